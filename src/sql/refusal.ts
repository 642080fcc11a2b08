/** Every reason for which this room refuses a text. */
const reasons = {
  TooLong: 'the text is too long to be parsed',
  TooDeep: 'the text is nested too deeply to be parsed',
  TooManyNodes: 'the syntax tree has too many nodes',
  TooManySteps: 'the references of the text take too many steps to resolve',
  NotSql: "PostgreSQL's parser does not accept the text",
  ParserLost: 'the parser is not loaded, or is being replaced',
  NameNotFound: 'no name stands where the parser found one',
} as const

export type SqlRefusalReason = keyof typeof reasons

/** The one error that leaves this room. It carries nothing of the text: that may hold values of rows. */
export class SqlRefusal extends Error {
  readonly reason: SqlRefusalReason

  constructor(reason: SqlRefusalReason) {
    super(reasons[reason])
    this.reason = reason
  }
}

export function refuseSql(reason: SqlRefusalReason): never {
  throw new SqlRefusal(reason)
}
