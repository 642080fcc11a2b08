import { quoteIdentifier } from '../../db/quote.ts'
import { kind, type Scene } from './exposure.ts'
import {
  type Expression,
  findOpenings,
  nameColumns,
  type Opening,
  readExpressions,
  readGenerated,
} from './expressions.ts'
import { printEach } from './print-each.ts'
import { joinStatements } from './role-book.ts'
import { treeText } from './stored-trees.ts'
import { policyColumns } from './whole-rows.ts'
import { addWriters, type Writers } from './writers.ts'

interface OracleRow extends Opening, Writers {
  readonly keys: readonly number[]
}

/**
 * Errors of an expression show its values, whatever the role may read, and CHECK is not the only place of one. INSERT does not
 * count: an expression is evaluated over a new row, whose values are the writer's own, or over an updated one, which takes UPDATE.
 */
export const expressionOracle = kind<OracleRow>({
  code: 'ExpressionOracle',
  severity: 'medium',
  async read(scene) {
    const expressions = [
      ...quoteNames(await readGenerated(scene)),
      ...(await readIndexes(scene)),
      ...(await readPartitionKeys(scene)),
    ]
    const usual = await addWriters(scene, merge(await findOpenings(scene, expressions)), ['UPDATE'])
    const all = [...usual, ...(await readStatistics(scene)), ...(await readPolicies(scene))]
    return all.map((row) => ({ ...row, keys: row.columns.map(({ number }) => number) }))
  },
  describe: ({ relation, column, kind, name, remedies }) => ({
    objects: [relation, { kind, name }],
    explanation: `${subjects[kind] ?? 'An expression'} uses the masked column ${column.name} together with other columns of the row, and these roles may update one of them${
      kind === 'statistics' ? ' and run ANALYZE' : ''
    }: ${
      kind === 'policy'
        ? 'the rows that they then see or change tell of its value, and an error of the condition can show it.'
        : 'an error of the expression can show its raw value.'
    }`,
    remedy: joinStatements(remedies),
  }),
})

const subjects: Readonly<Record<string, string>> = {
  column: 'The generated column',
  index: 'An expression or the condition of the index',
  'partition key': 'The partition key',
  policy: 'The row policy',
  statistics: 'An expression of the extended statistics',
}

function quoteNames<E extends Expression>(found: readonly E[]): E[] {
  return found.map((one) => ({ ...one, name: quoteIdentifier(one.name) }))
}

/** One exposure for an object, of however many expressions. */
function merge(openings: readonly Opening[]): Opening[] {
  const byObject = Map.groupBy(openings, ({ oid, kind, name }) => JSON.stringify([oid, kind, name]))
  return [...byObject.values()].flatMap((same) => {
    const [first] = same
    const unite = (of: (opening: Opening) => Opening['others']) => [
      ...new Map(same.flatMap(of).map((column) => [column.number, column])).values(),
    ]
    return first
      ? [{ ...first, columns: unite((one) => one.columns), others: unite((one) => one.others) }]
      : []
  })
}

function readIndexes(scene: Scene): Promise<Expression[]> {
  const { sql } = scene
  return readExpressions(
    scene,
    sql`select indrelid as oid, 'index' as kind, indexrelid::regclass::text as name, ${treeText(sql, sql`indexprs`)} as tree
        from pg_catalog.pg_index where indexprs is not null
      union all select indrelid, 'index', indexrelid::regclass::text, ${treeText(sql, sql`indpred`)}
        from pg_catalog.pg_index where indpred is not null`,
  )
}

/** All parts of a key as one: together they choose the partition, and a row that has none is refused. */
async function readPartitionKeys(scene: Scene): Promise<Expression[]> {
  const { sql } = scene
  const keys = await readExpressions(
    scene,
    sql`select partrelid as oid, 'partition key' as kind, '' as name,
        '{' || pg_catalog.concat((select pg_catalog.string_agg(':varattno ' || k, ' ') from unnest(partattrs::int2[]) k where k > 0), ' ')
          || ${treeText(sql, sql`partexprs`)} || '}' as tree
      from pg_catalog.pg_partitioned_table`,
  )
  const texts = await printEach(
    sql,
    keys.map(({ oid }) => oid),
    (oids) => sql<{ id: number; text: string }[]>`
      select p.oid::int8 as id, pg_catalog.pg_get_partkeydef(p.oid) as text from unnest(${oids}::int8[]::oid[]) p(oid)`,
  )
  return keys.map((key) => ({ ...key, name: texts.get(key.oid)?.text ?? 'that cannot be printed' }))
}

/** Evaluated by ANALYZE alone, which owners of the database and members of pg_maintain may run on every table. */
async function readStatistics(scene: Scene): Promise<(Opening & Writers)[]> {
  const { sql, version, book } = scene
  if (version < 140000) return []
  const expressions = await readExpressions(
    scene,
    sql`select s.stxrelid as oid, 'statistics' as kind, pg_catalog.format('%I.%I', n.nspname, s.stxname) as name,
        ${treeText(sql, sql`s.stxexprs`)} as tree
      from pg_catalog.pg_statistic_ext s join pg_catalog.pg_namespace n on n.oid = s.stxnamespace`,
  )
  const [database] = await sql<{ owner: string }[]>`
    select o.rolname::text as owner from pg_catalog.pg_database d join pg_catalog.pg_roles o on o.oid = d.datdba
    where d.datname = pg_catalog.current_database()`
  const analyzers = [...(database ? [database.owner] : []), ...(version >= 170000 ? ['pg_maintain'] : [])]
  const mayAnalyze = (role: string) => analyzers.some((one) => book.reaches(role, one))
  const found = await addWriters(scene, merge(await findOpenings(scene, expressions)), ['UPDATE'])
  return found.map((row) => ({ ...row, roles: row.roles.filter(mayAnalyze) }))
}

interface PolicyExpression extends Expression {
  readonly isPublic: boolean
  readonly meant: readonly string[]
}

/** Policies of INSERT are left out for the same reason. */
async function readPolicies(scene: Scene): Promise<(Opening & Writers)[]> {
  const { sql, oids, book } = scene
  const rows = await sql<PolicyExpression[]>`
    select p.polrelid::int8 as oid, 'policy' as kind, p.polname::text as name, 0 = any(p.polroles) as "isPublic",
      array(select rolname::text from pg_catalog.pg_roles where oid = any(p.polroles)) as meant,
      ${nameColumns(sql, sql`p.polrelid`, policyColumns(sql))} as columns
    from pg_catalog.pg_policy p join pg_catalog.pg_class c on c.oid = p.polrelid and c.relrowsecurity
    where p.polcmd <> 'a' and p.polrelid = any(${oids}::oid[]) order by 1, 3`
  const openings = await findOpenings(scene, quoteNames(rows))
  return (await addWriters(scene, openings, ['UPDATE'])).map((row) => {
    const isSubject = (role: string) => row.isPublic || row.meant.some((other) => book.reaches(role, other))
    return { ...row, roles: row.roles.filter(isSubject) }
  })
}
