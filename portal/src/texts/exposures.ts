export const exposures = {
  title: 'Exposures',
  emptyTitle: 'No way around the masks is open',
  emptyHint:
    'Every path by which a masked role could still see a raw value is closed. This list is made anew at each look.',
  severities: { high: 'High', medium: 'Medium', low: 'Low' },
  severity: 'Severity',
  all: 'All',
  remedy: 'What closes it',
  affects: 'What else it affects',
  undo: 'How to undo it',
  alternative: 'Another way',
  dangerous: 'Read this first',
  roles: 'Roles',
  objects: 'Objects',
  everyone: 'Not tied to roles',
  mask: 'Mask this column',
  again: 'Look again',
  count: (count: number) => (count === 1 ? '1 exposure' : `${count} exposures`),
  noneOfSeverity: 'None of this severity',
  closed: (count: number) =>
    count === 1 ? '1 closed since you last looked' : `${count} closed since you last looked`,
} as const
