import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import type { Grant, Oid, Relation, Snapshot, Statement } from '../model.ts'
import { actorOf, changeAcl, replaceAcl, say, targetOf, writeGrant } from './grant-statements.ts'
import type { MaskedRelation, TwinPlan } from './model.ts'
import { forgetTwinRule, writeNoTwin, writeTwin } from './write-records.ts'
import { isBarrier } from './write-twins.ts'

const drop = ({ schema, name }: Relation) => `DROP VIEW IF EXISTS ${quoteQualified(schema, name)} CASCADE`

/** `refused`: what it cannot be made from. */
export function dropTwin(
  { guard }: Snapshot,
  { relation, record, made }: Pick<MaskedRelation, 'record' | 'made'> & { relation: { oid: Oid } },
  refused: string | null = null,
): Statement[] {
  if (!record?.twin && refused === null) return []
  const texts = [...(made ? [drop(made)] : []), writeNoTwin(guard.schema, relation.oid, refused)]
  return say('a twin that is not wanted now', ...texts)
}

/** Every role loses the twin, and its record, so that the opening makes it and its grants anew. */
export function closeTwin(snapshot: Snapshot, oid: Oid, made: Relation): Statement[] {
  const why = 'the twin may show what is hidden now'
  return lend(snapshot, made.owner, made.ownerName, [made.schema], null, [
    ...replaceAcl(snapshot, { ...targetOf(made, why), as: made.ownerName }, made.acl, []),
    ...say(why, forgetTwinRule(snapshot.guard.schema, oid)),
  ])
}

/** The owner of a view need not have the schemas of twins, which it uses while its twin is made and granted. */
function lend(
  { schemas, superusers, twinOwners }: Snapshot,
  owner: Oid | null,
  name: string,
  used: readonly string[],
  makesIn: string | null,
  inner: Statement[],
): Statement[] {
  const isOurs = owner === null || twinOwners.some(({ role }) => role === owner)
  if (inner.length === 0 || isOurs || superusers.has(owner)) return inner
  const mayUse = new Set(
    [...schemas.values()]
      .filter(({ users }) => users.includes(0) || users.includes(owner))
      .map(({ twins }) => twins),
  )
  const why = 'the owner of the view makes its twin'
  const on = (schema: string) => `ON SCHEMA ${quoteIdentifier(schema)}`
  const lent = [...new Set(used)].filter((one) => !mayUse.has(one)).map((one) => `USAGE ${on(one)}`)
  if (makesIn !== null) lent.push(`CREATE ${on(makesIn)}`)
  const write = (verb: 'GRANT' | 'REVOKE') =>
    lent.flatMap((what) => writeGrant(verb, what, [quoteIdentifier(name)], why))
  return [...write('GRANT'), ...inner, ...write('REVOKE')]
}

export function openTwin(snapshot: Snapshot, wanted: MaskedRelation, twin: TwinPlan): Statement[] {
  const { relation, isKept } = wanted
  const why = `the masked twin of ${relation.schema}.${relation.name}`
  const statements = [
    ...(isKept ? [] : makeTwin(snapshot, wanted, twin, why)),
    ...grantTwin(snapshot, wanted, twin, why),
  ]
  if (twin.by === 'itself') return [...letRead(relation, twin), ...statements]
  const used = [twin.schema, ...twin.over]
  return lend(snapshot, twin.ownerOid, twin.owner, used, isKept ? null : twin.schema, statements)
}

/** The owner of the twin reads the relation, and what its row policies read. */
function letRead(relation: Relation, { owner, ownerOid }: TwinPlan): Statement[] {
  const reads = relation.acl.some(
    ({ grantee, kind, column }) => grantee === ownerOid && kind === 'SELECT' && column === 0,
  )
  if (reads) return []
  const on = [targetOf(relation, '').on, ...relation.policyReads.map(({ name }) => name)].join(', ')
  const sql = `GRANT SELECT ON ${on} TO ${quoteIdentifier(owner)}`
  return [{ sql, why: 'its twin reads it', as: actorOf(relation) }]
}

function makeTwin(
  { guard }: Snapshot,
  { relation, made }: MaskedRelation,
  twin: TwinPlan,
  why: string,
): Statement[] {
  const options = [
    isBarrier(relation) && 'security_barrier',
    (relation.isSecurityInvoker || twin.shows === 'decided') && 'security_invoker',
  ].filter(Boolean)
  const columns = relation.columns.map(({ name }) => name)
  const having = options.length > 0 ? ` WITH (${options.join(', ')})` : ''
  const view = `${quoteQualified(twin.schema, twin.name)} (${columns.map(quoteIdentifier).join(', ')})`
  const make = (verb: string) => ({
    sql: `${verb} VIEW ${view}${having} AS ${twin.select}`,
    why,
    as: twin.owner,
  })
  // The binding owns the schema, and may drop what is in it.
  const anew = [...say(why, ...(made ? [drop(made)] : [])), make('CREATE')]
  const recorded = say(why, writeTwin(guard.schema, relation.oid, twin))
  if (!made || !isInPlace(made, relation, twin)) return [...anew, ...recorded]
  const renames = renameColumns(made, columns).map((sql) => ({ sql, why, as: twin.owner }))
  const replace = { ...make('CREATE OR REPLACE'), otherwise: { on: '42P16', statements: anew } }
  return [...renames, replace, ...recorded]
}

/** Exactly the planned grants. A new twin also loses what default privileges of its owner and the binding gave. */
function grantTwin(
  snapshot: Snapshot,
  { relation, made, isKept }: MaskedRelation,
  twin: TwinPlan,
  why: string,
): Statement[] {
  const target = {
    on: quoteQualified(twin.schema, twin.name),
    owner: made?.owner ?? relation.owner,
    columns: new Map(relation.columns.map(({ name }, at) => [at + 1, name])),
    as: twin.owner,
    why,
  }
  const acl = made?.acl ?? []
  if (isKept) return changeAcl(snapshot, target, acl, twin.grants)
  const given = [relation.owner, snapshot.server.binding.oid].flatMap(
    (oid) => snapshot.defaults.get(oid)?.relations ?? [],
  )
  const byDefault = given.map(
    (grantee): Grant => ({ column: 0, grantee, grantor: target.owner, kind: 'SELECT', grantable: false }),
  )
  return replaceAcl(snapshot, target, [...acl, ...byDefault], twin.grants)
}

export const isAt = (made: Relation, twin: Pick<TwinPlan, 'schema' | 'name'>) =>
  made.schema === twin.schema && made.name === twin.name

/** CREATE OR REPLACE keeps what others built on a twin, and takes the same columns with new ones at the end. */
export const isInPlace = (made: Relation, { columns }: Relation, twin: TwinPlan): boolean =>
  isAt(made, twin) &&
  made.ownerName === twin.owner &&
  made.columns.length <= columns.length &&
  (twin.types === null || made.columns.every(({ type }, at) => type === twin.types?.[at]))

/** Two columns may have exchanged their names: each gets one that no column has first. */
function renameColumns(made: Relation, columns: readonly string[]): string[] {
  const view = quoteQualified(made.schema, made.name)
  const changed = made.columns.flatMap(({ name }, at) =>
    columns[at] !== undefined && columns[at] !== name
      ? [{ from: name, to: columns[at], by: `masquerade_${at}` }]
      : [],
  )
  const write = (from: string, to: string) =>
    `ALTER VIEW ${view} RENAME COLUMN ${quoteIdentifier(from)} TO ${quoteIdentifier(to)}`
  return [...changed.map(({ from, by }) => write(from, by)), ...changed.map(({ by, to }) => write(by, to))]
}
