import { quoteIdentifier, quoteLiteral, quoteQualified } from '../../db/quote.ts'
import type { ObservedTwin, Relation } from '../catalog.ts'
import type { DesiredTwin, Step } from '../plan.ts'
import type { Masks } from './assign-masks.ts'

/** Begins each comment of ours: others on the columns of a twin are left alone. */
const ours = 'masked by rule '

/** Comments by which readers of a twin can know which columns are masked, and how: `\d+` shows them. */
export function describeMasks({ columns }: Relation, masks: Masks): ReadonlyMap<string, string> {
  return new Map(
    columns.flatMap(({ number, name }) => {
      const rule = masks.get(number)
      return rule ? [[name, `${ours}${rule.name}: ${rule.maskingFunction}`] as const] : []
    }),
  )
}

/** The statements that give the columns of a twin their comments. CREATE OR REPLACE VIEW keeps the ones that are there. */
export function commentColumns(twin: DesiredTwin, observed: ObservedTwin | undefined): string[] {
  return twin.columns.flatMap((column, at) => {
    const [text, seen] = [twin.comments.get(column), observed?.comments[at + 1]]
    if (text === seen || (text === undefined && !seen?.startsWith(ours))) return []
    const place = `${quoteQualified(twin.schema, twin.name)}.${quoteIdentifier(column)}`
    return [`COMMENT ON COLUMN ${place} IS ${text === undefined ? 'NULL' : quoteLiteral(text)}`]
  })
}

/** For a twin that is otherwise as it should be. */
export function commentAgain(comments: readonly string[], owner: string): Step[] {
  return comments.length === 0
    ? []
    : [{ sql: comments.join(';\n'), why: 'readers of a twin can know what is masked', as: owner }]
}
