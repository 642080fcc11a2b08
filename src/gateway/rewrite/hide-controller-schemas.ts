import { quoteLiteral } from '../../db/quote.ts'

/** Hides the controller's own schemas from clients that dump a whole database. */
export interface Hiding {
  /** Schemas of ours that the role has no use for. */
  readonly schemas: readonly string[]
}

type Condition = (ours: string) => string

const inSchema =
  (column: string): Condition =>
  (ours) =>
    `${column} NOT IN (${ours})`

/** How rows of ours are told in each catalog that a dump is made from. */
const conditions: ReadonlyMap<string, Condition> = new Map([
  ['pg_namespace', inSchema('oid')],
  ['pg_class', inSchema('relnamespace')],
  ['pg_type', inSchema('typnamespace')],
  ['pg_proc', inSchema('pronamespace')],
  ['pg_default_acl', inSchema('defaclnamespace')],
  [
    'pg_rewrite',
    (ours) => `ev_class NOT IN (SELECT oid FROM pg_catalog.pg_class WHERE relnamespace IN (${ours}))`,
  ],
  [
    'pg_event_trigger',
    (ours) => `evtfoid NOT IN (SELECT oid FROM pg_catalog.pg_proc WHERE pronamespace IN (${ours}))`,
  ],
])

/**
 * The subquery to read instead of that catalog; undefined: the catalog itself. It runs as the client and only removes
 * rows.
 */
export function readCatalogWithout(
  { schemas }: Hiding,
  { schemaname, relname, alias }: { schemaname?: string; relname: string; alias?: object },
): string | undefined {
  const condition = conditions.get(relname)
  if (!condition || (schemaname ?? 'pg_catalog') !== 'pg_catalog') return undefined
  const names = schemas.map(quoteLiteral).join(', ')
  const ours = `SELECT oid FROM pg_catalog.pg_namespace WHERE nspname OPERATOR(pg_catalog.=) ANY (ARRAY[${names}]::pg_catalog.name[])`
  const rows = `(SELECT tableoid, * FROM pg_catalog.${relname} WHERE ${condition(ours)})`
  return alias ? rows : `${rows} AS ${relname}`
}
