export const overview = {
  title: 'Overview',
  databases: 'Databases',
  attention: 'Need attention',
  rules: 'Rules',
  exposures: 'Open exposures',
  recommended: 'Look sensitive',
  drift: 'Drift repaired',
  readsTitle: 'Who read raw values',
  reads: { raw: 'Raw reads', masked: 'Masked reads', denied: 'Denied reads' },
  rawReads: 'Raw reads, by day',
  readsNone: 'No role has read masked columns yet',
  readsNoneHint:
    'Statements through the gateway that read a masked column are counted here, with who sent them.',
  recent: 'Lately',
  times: (count: number) => `${count} times ·`,
  recentNone: 'Changes, logins and reads of masked data appear here.',
  welcome: 'First steps',
  sessions: 'Sessions now',
  readers: 'Readers of raw values, then of masked ones, then denied ones',
  firstLook: 'First look',
  notAnswered: 'Unknown: not every database answered',
  allEnforced: 'All in order',
  sinceBinding: 'Since binding',
  loginsToday: (count: number) => (count === 1 ? '1 login today' : `${count.toLocaleString()} logins today`),
  inWeek: (difference: number) =>
    difference === 0 ? 'Unchanged in 7 days' : `${difference > 0 ? '+' : ''}${difference} in 7 days`,
  sinceDay: (difference: number, day: Date) => {
    const when = day.toLocaleDateString(undefined, { day: 'numeric', month: 'short' })
    return difference === 0
      ? `Unchanged since ${when}`
      : `${difference > 0 ? '+' : ''}${difference} since ${when}`
  },
} as const
