import type { Query, Row, Sql } from '../../db/sql.ts'
import type { HiddenColumn, Scene } from './exposure.ts'
import { treeText } from './stored-trees.ts'

/** An expression that PostgreSQL evaluates over rows of a masked relation. */
export interface Expression {
  readonly oid: number
  /** Of the object that has the expression. */
  readonly kind: string
  readonly name: string
  /** The columns that it names. */
  readonly columns: readonly NamedColumn[]
}

type NamedColumn = HiddenColumn

/** Longer trees are not split: their expressions count as one. */
const mostTree = 100_000

/** Of the trees of one query together, in bytes: longer ones are not searched, and count as naming every column. */
const mostTrees = 16_000_000

/** `trees`: a query of `oid`, `kind`, `name` and `tree`, the stored form of one expression or of a list of them; null: it is too long. */
export async function readExpressions({ sql, oids }: Scene, trees: Query<Row[]>): Promise<Expression[]> {
  const rows = await sql<(Expression & { tree: string | null })[]>`
    select t.oid::int8 as oid, t.kind, t.name, ${nameColumns(sql, sql`t.oid`, sql`named.numbers`)} as columns,
      case when pg_catalog.length(t.tree) <= ${mostTree} then t.tree end as tree
    from (
      select t.*, t.tree is null or pg_catalog.sum(m.size) over (order by m.size) > ${mostTrees} as is_long
      from (${trees}) t cross join lateral (select pg_catalog.octet_length(t.tree) as size) m where t.oid = any(${oids}::oid[])
    ) t cross join lateral (select case when t.is_long then '{0}' else array(select distinct m[1]::int4
      from pg_catalog.regexp_matches(t.tree, ':varattno ([0-9]+)', 'g') m) end as numbers) named
    order by 1, 2, 3`
  return rows.flatMap(({ tree, ...whole }) => (tree === null ? [whole] : splitTree(tree, whole)))
}

/** SQL for columns of a relation as JSON; the number 0 stands for the row as a whole. */
export function nameColumns(sql: Sql, relation: Query<Row[]>, numbers: Query<Row[]>) {
  return sql`coalesce((select jsonb_agg(jsonb_build_object('number', a.attnum, 'name', a.attname) order by a.attnum)
    from pg_catalog.pg_attribute a where a.attrelid = ${relation} and a.attnum > 0 and not a.attisdropped
      and (a.attnum = any(${numbers}) or 0 = any(${numbers}))), '[]')`
}

/** Each expression of a list by itself: `({…} {…})`. PostgreSQL escapes braces in names, and writes constants as numbers. */
function splitTree(tree: string, { columns, ...object }: Expression): Expression[] {
  const parts: string[] = []
  let depth = 0
  let from = 0
  for (const { 0: brace, index } of tree.matchAll(/\\.|[{}]/gs)) {
    if (brace === '{' && depth++ === 0) from = index
    if (brace === '}' && --depth === 0) parts.push(tree.slice(from, index))
  }
  return parts.map((part) => {
    const numbers = new Set([...part.matchAll(/:varattno ([0-9]+)/g)].map(([, number]) => Number(number)))
    return { ...object, columns: columns.filter(({ number }) => numbers.has(0) || numbers.has(number)) }
  })
}

/** Generated columns of masked relations. */
export function readGenerated(scene: Scene): Promise<Expression[]> {
  const { sql } = scene
  return readExpressions(
    scene,
    sql`select d.adrelid as oid, 'column' as kind, a.attname::text as name, ${treeText(sql, sql`d.adbin`)} as tree
      from pg_catalog.pg_attrdef d join pg_catalog.pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
      where a.attgenerated <> ''`,
  )
}

/** An expression with the columns by which a role that writes them learns of a hidden one. */
export interface Opening extends Expression {
  readonly others: readonly NamedColumn[]
}

/**
 * The expressions that name a hidden column and another one: a role that sets the other one has PostgreSQL evaluate the raw
 * value with it. A generated column stands for those that it is computed from.
 */
export async function findOpenings<E extends Expression>(
  scene: Scene,
  expressions: readonly E[],
): Promise<(E & Opening)[]> {
  const withSources = await readSources(scene)
  return expressions.flatMap((expression) => {
    const { columns, sourcesOf } = withSources(expression)
    const hidden = scene.byOid.get(expression.oid)?.hidden.map(({ number }) => number) ?? []
    const targets = columns.filter(({ number }) => hidden.includes(number))
    const others = columns.filter(
      (column) =>
        sourcesOf(column).length === 0 &&
        targets.some((target) => target.number !== column.number && !isAmong(sourcesOf(target), column)),
    )
    return others.length > 0 ? [{ ...expression, columns, others }] : []
  })
}

const isAmong = (columns: readonly NamedColumn[], { number }: NamedColumn) =>
  columns.some((column) => column.number === number)

/** Returns a function that adds the columns that the generated ones among an expression's are computed from. */
export async function readSources(scene: Scene) {
  const generated = Map.groupBy(await readGenerated(scene), ({ oid }) => oid)
  return ({ oid, columns }: Pick<Expression, 'oid' | 'columns'>) => {
    const sourcesOf = ({ name }: NamedColumn) =>
      generated.get(oid)?.find((one) => one.name === name)?.columns ?? []
    const added = columns.flatMap(sourcesOf).filter((source) => !isAmong(columns, source))
    return { columns: [...columns, ...added], sourcesOf }
  }
}
