export const overview = {
  title: 'Overview',
  databases: 'Databases',
  enforced: 'Enforced',
  attention: 'Need attention',
  maskedColumns: 'Masked columns',
  drift: 'Drift repaired',
  allWell: 'All masks are in place.',
} as const
