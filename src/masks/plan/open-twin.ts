import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import type { MaskRecord, Oid, Relation, Snapshot, Statement } from '../model.ts'
import { actAs, changeAcl } from './grant-statements.ts'
import { compareAcl } from './grants.ts'
import type { MaskedRelation, TwinPlan } from './model.ts'
import { forgetTwinRule, writeTwin as recordTwin } from './write-records.ts'

export function dropTwin(
  { guard }: Snapshot,
  oid: Oid,
  record: MaskRecord | undefined,
  made: Snapshot['twins'][number] | undefined,
): Statement[] {
  if (!record || record.twin === null) return []
  const why = 'a twin that is not wanted now'
  const drop = made
    ? [{ sql: `DROP VIEW IF EXISTS ${quoteQualified(made.schema, made.name)} CASCADE`, why }]
    : []
  return [...drop, { sql: recordTwin(guard.schema, oid, null), why }]
}

/** Every role loses the twin, and its record, so that the opening makes it and its grants anew. */
export function closeTwin(snapshot: Snapshot, oid: Oid, made: NonNullable<Made>): Statement[] {
  const { server, roleNames, guard } = snapshot
  const why = 'the twin may show what is hidden now'
  const revoked = [...new Set(made.acl.map(({ grantee }) => grantee))]
  const target = { on: quoteQualified(made.schema, made.name), columns: new Map(), as: made.ownerName, why }
  const change = { revoked, passedOn: [], granted: [] }
  const statements = [
    ...changeAcl({ version: server.version, roleNames }, target, change),
    { sql: forgetTwinRule(guard.schema, oid), why },
  ]
  return letIn(snapshot, made.owner, made.ownerName, [made.schema], [], statements)
}

/** The owner of a view need not have the schemas of twins, which it uses while its twin is made and granted. */
function letIn(
  { schemas, superusers, twinOwners }: Snapshot,
  oid: Oid,
  name: string,
  used: readonly string[],
  made: readonly string[],
  inner: Statement[],
): Statement[] {
  const isOurs = twinOwners.some(({ role }) => role === oid)
  if (inner.length === 0 || isOurs || superusers.has(oid)) return inner
  const mayUse = new Set(
    schemas.filter(({ users }) => users.includes(0) || users.includes(oid)).map(({ twins }) => twins),
  )
  const why = 'the owner of the view makes its twin'
  const write = (verb: string, word: string) => [
    ...[...new Set(used)]
      .filter((one) => !mayUse.has(one))
      .map((one) => ({
        sql: `${verb} USAGE ON SCHEMA ${quoteIdentifier(one)} ${word} ${quoteIdentifier(name)}`,
        why,
      })),
    ...made.map((one) => ({
      sql: `${verb} CREATE ON SCHEMA ${quoteIdentifier(one)} ${word} ${quoteIdentifier(name)}`,
      why,
    })),
  ]
  return [...write('GRANT', 'TO'), ...inner, ...write('REVOKE', 'FROM')]
}

type Made = Snapshot['twins'][number] | undefined

export function openTwin(
  snapshot: Snapshot,
  { relation }: MaskedRelation,
  twin: TwinPlan,
  record: MaskRecord | undefined,
  made: Made,
): Statement[] {
  const isCurrent =
    made !== undefined &&
    record?.basis === twin.basis &&
    made.rule === record.rule &&
    made.columns.join('\0') === twin.columns.join('\0') &&
    isAt(made, twin)
  const why = `the masked twin of ${relation.schema}.${relation.name}`
  const statements = [
    ...(isCurrent ? [] : makeTwin(snapshot, relation.oid, twin, made, why)),
    ...grantTwin(snapshot, relation, twin, made, isCurrent, why),
  ]
  if (twin.by === 'itself') return [...letRead(snapshot, relation, twin), ...statements]
  const makesIn = isCurrent ? [] : [twin.schema]
  return letIn(snapshot, relation.owner, twin.owner, [twin.schema, ...twin.over], makesIn, statements)
}

/** The owner of the twin reads the relation, and what its row policies read. */
function letRead({ twinOwners }: Snapshot, relation: Relation, twin: TwinPlan): Statement[] {
  const reader = twinOwners.find(({ name }) => name === twin.owner)
  const reads = relation.acl.some(
    ({ grantee, kind, column }) => grantee === reader?.role && kind === 'SELECT' && column === 0,
  )
  if (reads) return []
  const own = quoteQualified(relation.schema, relation.name)
  const on = [own, ...relation.policyReads.map(({ name }) => name)].join(', ')
  const sql = `GRANT SELECT ON ${on} TO ${quoteIdentifier(twin.owner)}`
  return [{ sql, why: 'its twin reads it', ...actAs(relation) }]
}

function makeTwin({ guard }: Snapshot, oid: Oid, twin: TwinPlan, made: Made, why: string): Statement[] {
  const columns = twin.columns.map(quoteIdentifier).join(', ')
  const options = [
    twin.isSecurityBarrier && 'security_barrier',
    twin.isSecurityInvoker && 'security_invoker',
  ].filter(Boolean)
  const having = options.length > 0 ? ` WITH (${options.join(', ')})` : ''
  const text = `VIEW ${quoteQualified(twin.schema, twin.name)} (${columns})${having} AS ${twin.select}`
  const make = (verb: string) => ({ sql: `${verb} ${text}`, why, as: twin.owner })
  // The binding owns the schema, and may drop what is in it.
  const drop = made
    ? [{ sql: `DROP VIEW IF EXISTS ${quoteQualified(made.schema, made.name)} CASCADE`, why }]
    : []
  const anew = [...drop, make('CREATE')]
  const recorded = { sql: recordTwin(guard.schema, oid, twin), why }
  if (!made || !isInPlace(made, twin)) return [...anew, recorded]
  const renames = renameColumns(made, twin.columns).map((sql) => ({ sql, why, as: twin.owner }))
  const replace = { ...make('CREATE OR REPLACE'), otherwise: { on: ['42P16'], statements: anew } }
  return [...renames, replace, recorded]
}

/** Exactly the planned grants: a new twin also loses what default privileges gave. */
function grantTwin(
  { server, roleNames, defaults }: Snapshot,
  relation: Relation,
  twin: TwinPlan,
  made: Made,
  isCurrent: boolean,
  why: string,
): Statement[] {
  const change = compareAcl(made ?? { acl: [], owner: relation.owner }, twin.grants)
  if (isCurrent && change === null) return []
  // Its owner and the binding may have default privileges that open what they create.
  const given = [relation.owner, server.binding.oid].flatMap((oid) => defaults.get(oid)?.relations ?? [])
  return changeAcl(
    { version: server.version, roleNames },
    {
      on: quoteQualified(twin.schema, twin.name),
      columns: new Map(twin.columns.map((column, at) => [at + 1, column])),
      as: twin.owner,
      why,
    },
    {
      revoked: [
        ...new Set([...(made?.acl ?? []).map(({ grantee }) => grantee), ...(isCurrent ? [] : given)]),
      ],
      passedOn: change?.passedOn ?? [],
      granted: twin.grants,
    },
  )
}

const isAt = (made: NonNullable<Made>, twin: TwinPlan) =>
  made.ownerName === twin.owner && made.schema === twin.schema && made.name === twin.name

/** CREATE OR REPLACE keeps what others built on a twin, and takes the same columns with new ones at the end. */
export function isInPlace(made: NonNullable<Made>, twin: TwinPlan): boolean {
  const { types } = twin
  return (
    isAt(made, twin) &&
    made.columns.length <= twin.columns.length &&
    (types === null || made.types.every((type, at) => type === types[at]))
  )
}

/** Two columns may have exchanged their names: each gets one that no column has first. */
function renameColumns(made: NonNullable<Made>, columns: readonly string[]): string[] {
  const name = quoteQualified(made.schema, made.name)
  const changed = made.columns.flatMap((from, at) =>
    columns[at] !== undefined && columns[at] !== from
      ? [{ from, to: columns[at], by: `masquerade_${at}` }]
      : [],
  )
  const write = (from: string, to: string) =>
    `ALTER VIEW ${name} RENAME COLUMN ${quoteIdentifier(from)} TO ${quoteIdentifier(to)}`
  return [...changed.map(({ from, by }) => write(from, by)), ...changed.map(({ by, to }) => write(by, to))]
}
