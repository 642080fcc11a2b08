export const database = {
  tabs: 'Parts of the database',
  data: 'Data',
  rules: 'Rules',
  exposures: 'Exposures',
  people: 'People',
  activity: 'Activity',
  query: 'Query',
  gateway: 'Gateway name',
  toQuery: 'Query it as yourself',
} as const
