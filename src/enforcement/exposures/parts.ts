import { quoteIdentifier } from '../../db/quote.ts'

/** Of one exposure: a masked role that owns a child of a table may make any number of children of that. */
const mostParts = 1000

interface Part {
  readonly kind: string
  readonly name: string
}

/** The objects, words and statements for tables that one role owns below one table. */
export function describeParts(parts: readonly Part[], owner: string) {
  const listed = parts.slice(0, mostParts)
  const [first] = listed
  return {
    objects: listed.map(({ kind, name }) => ({ kind, name })),
    words:
      parts.length === 1
        ? `the ${first?.kind} ${first?.name}`
        : `${parts.length} tables below it${parts.length > mostParts ? `, of which the first ${mostParts} are listed,` : ''} such as ${first?.name}`,
    remedy: listed
      .map(({ kind, name }) => `ALTER ${kind.toUpperCase()} ${name} OWNER TO ${quoteIdentifier(owner)}`)
      .join(';\n'),
  }
}
