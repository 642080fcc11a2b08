export const overview = {
  title: 'Overview',
  databases: 'Databases',
  attention: 'Need attention',
  maskedColumns: 'Masked columns',
  exposures: 'Open exposures',
  recommended: 'Look sensitive, not masked',
  drift: 'Drift repaired',
  touches: 'Masked columns read, by day',
  touchesNone: 'Nobody has read masked columns through the gateway yet.',
  recent: 'Lately',
  recentNone: 'Changes, logins and reads of masked data appear here.',
  welcome: 'First steps',
} as const
