import { quoteIdentifier } from '../../db/quote.ts'
import { findStrangers, type Given, givenAsJson } from './acl-entries.ts'
import type { Exposure, ExposureClass, MaskedRelation, Scene, Severity } from './exposure.ts'

interface TableGrant {
  readonly code: string
  readonly severity: Severity
  readonly privilege: 'SELECT' | 'TRIGGER' | 'REFERENCES'
  /** Which relations it matters on. */
  on(relation: MaskedRelation): boolean
  readonly explanation: string
}

const grants: readonly TableGrant[] = [
  {
    code: 'Readable',
    severity: 'high',
    privilege: 'SELECT',
    on: () => true,
    explanation:
      'Somebody who is to see masks holds SELECT on hidden columns right now: masks are not in place yet, or it was granted by hand and the next audit takes it back.',
  },
  {
    code: 'TriggerGrant',
    severity: 'high',
    privilege: 'TRIGGER',
    on: ({ hasRules }) => hasRules,
    explanation:
      'TRIGGER lets the holder put a function of its own on the table. PostgreSQL hands it whole rows, raw, whenever anybody writes, and runs it as whoever writes.',
  },
  {
    code: 'ReferencesGrant',
    severity: 'medium',
    privilege: 'REFERENCES',
    on: ({ hasRules }) => hasRules,
    explanation:
      'REFERENCES lets the holder point a foreign key of a table of its own at a masked column; each row that it then inserts tells whether a value exists.',
  },
]

interface Row {
  readonly oid: number
  readonly given: readonly Given[]
  readonly columns: readonly { readonly number: number; readonly given: readonly Given[] }[]
}

export const tableGrants: readonly ExposureClass[] = grants.map((grant) => ({
  code: grant.code,
  async find(scene) {
    const { sql, masked, byOid } = scene
    const relations = masked.filter((relation) => grant.on(relation))
    const rows = await sql<Row[]>`
      select c.oid::int8 as oid, ${givenAsJson(sql, sql`c.relacl`, [grant.privilege])} as given,
        coalesce((select jsonb_agg(jsonb_build_object('number', a.attnum,
            'given', ${givenAsJson(sql, sql`a.attacl`, [grant.privilege])}))
          from pg_catalog.pg_attribute a where a.attrelid = c.oid and a.attacl is not null and a.attnum > 0), '[]') as columns
      from pg_catalog.pg_class c where c.oid = any(${relations.map(({ oid }) => oid)}::oid[])`
    return rows.flatMap((row) => {
      const relation = byOid.get(row.oid)
      return relation ? describe(scene, grant, relation, row) : []
    })
  },
}))

function describe(scene: Scene, grant: TableGrant, relation: MaskedRelation, row: Row): Exposure[] {
  const hidden = new Map(relation.hidden.map(({ number, name }) => [number, name]))
  const columns = row.columns.filter(({ number }) => hidden.has(number))
  const whole = findStrangers(scene, row.given, relation.owner)
  const single = findStrangers(
    scene,
    columns.flatMap(({ given }) => given),
    relation.owner,
  )
  const names = columns.map(({ number }) => quoteIdentifier(hidden.get(number) ?? '')).join(', ')
  const remedies = [
    ...(whole ? [`REVOKE ${grant.privilege} ON ${relation.name} FROM ${whole.grantees} CASCADE`] : []),
    ...(single
      ? [`REVOKE ${grant.privilege} (${names}) ON ${relation.name} FROM ${single.grantees} CASCADE`]
      : []),
  ]
  if (remedies.length === 0) return []
  return [
    {
      code: grant.code,
      severity: grant.severity,
      objects: [{ kind: relation.kind, name: relation.name }],
      roles: [...new Set([...(whole?.roles ?? []), ...(single?.roles ?? [])])].sort(),
      explanation: grant.explanation,
      remedy: remedies.join(';\n'),
      rule: null,
    },
  ]
}
