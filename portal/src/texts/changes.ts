/** Words of the drawer that every change goes through. */
export const changes = {
  what: 'What changes',
  before: 'Before',
  after: 'After',
  impact: 'Who is affected',
  plan: 'Statements',
  planNone: 'No statement has to run.',
  planCount: (count: number) => (count === 1 ? '1 statement' : `${count} statements`),
  reading: 'Working out what this does…',
  confirm: 'Apply',
  working: 'Applying…',
  done: 'Done',
  undo: 'Undo',
  undoTitle: (title: string) => `Undo: ${title}`,
  undone: 'The change was taken back.',
} as const
