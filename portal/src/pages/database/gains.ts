import { useQueries } from '@tanstack/react-query'
import { allTableRolesQuery, type TablePlace, type TableRole } from '../../api/catalog.ts'
import type { DocumentProperties } from '../../api/document.ts'
import type { DatabasePlace } from '../../api/masking.ts'

/** Each is a request or more. */
const mostTables = 8

interface Gain {
  readonly role: string
  readonly tables: readonly string[]
}

/** The roles that gain raw values, with what was left out of the look. */
interface Gains {
  readonly gains: readonly Gain[]
  /** How many tables were not looked at. */
  readonly tablesLeft: number
  /** Tables with more roles than were looked at. */
  readonly cutTables: readonly string[]
  /** Tables whose roles the service did not tell. */
  readonly failedTables: readonly string[]
}

/** The roles that read a column masked now whose mask ends; undefined until they are known. */
export function useGains(
  place: DatabasePlace,
  present: DocumentProperties,
  next: DocumentProperties,
): Gains | undefined {
  const all = listEnded(present, next)
  const ended = all.slice(0, mostTables)
  return useQueries({
    queries: ended.map(({ table }) => allTableRolesQuery(place, table)),
    combine: (looks) => {
      if (looks.some(({ isPending }) => isPending)) return undefined
      const pairs = ended.flatMap(({ table, columns }, at) =>
        (looks[at]?.data?.roles ?? [])
          .filter((role) => readsMasked(role, columns))
          .map(({ role }) => ({ role, table: nameOf(table) })),
      )
      const gains = [...Map.groupBy(pairs, ({ role }) => role)].map(([role, own]) => ({
        role,
        tables: own.map(({ table }) => table),
      }))
      const tablesWhere = (isSo: (look: (typeof looks)[number] | undefined) => boolean) =>
        ended.filter((_, at) => isSo(looks[at])).map(({ table }) => nameOf(table))
      return {
        gains,
        tablesLeft: all.length - ended.length,
        cutTables: tablesWhere((look) => look?.data?.hasMore === true),
        failedTables: tablesWhere((look) => look?.isError === true),
      }
    },
  })
}

function nameOf({ schema, table }: TablePlace): string {
  return `${schema}.${table}`
}

function readsMasked({ maskedColumns }: TableRole, columns: ReadonlySet<string>): boolean {
  return maskedColumns.some((name) => columns.has(name))
}

/** The columns by table that have a mask under the one document and none under the other. */
function listEnded(
  present: DocumentProperties,
  next: DocumentProperties,
): readonly { readonly table: TablePlace; readonly columns: ReadonlySet<string> }[] {
  const held = ({ policy, rules }: DocumentProperties) => (policy.dataMaskingState === 'Enabled' ? rules : [])
  const kept = new Set(held(next).map((rule) => keyOf(rule.schemaName, rule.tableName, rule.columnName)))
  const ended = held(present).filter(
    (rule) => !kept.has(keyOf(rule.schemaName, rule.tableName, rule.columnName)),
  )
  return [...Map.groupBy(ended, (rule) => keyOf(rule.schemaName, rule.tableName)).values()].flatMap(
    (rules) => {
      const [first] = rules
      if (!first) return []
      const table = { schema: first.schemaName, table: first.tableName }
      return [{ table, columns: new Set(rules.map(({ columnName }) => columnName)) }]
    },
  )
}

const keyOf = (...names: readonly string[]) => JSON.stringify(names)
