import { quoteIdentifier } from '../../db/quote.ts'
import type { Exposure, ExposureClass } from './exposure.ts'

interface TriggerRow {
  readonly oid: number
  readonly name: string
  readonly routine: string
  readonly language: string
  readonly text: string
}

/** A trigger gets whole rows, raw, and may put them where everybody can read them. */
export const triggers: ExposureClass = {
  code: 'Trigger',
  async find({ sql, masked, byOid }) {
    const rows = await sql<TriggerRow[]>`
      select t.tgrelid::int8 as oid, t.tgname::text as name, p.oid::regprocedure::text as routine,
        l.lanname::text as language, p.prosrc as text
      from pg_catalog.pg_trigger t join pg_catalog.pg_proc p on p.oid = t.tgfoid
      join pg_catalog.pg_language l on l.oid = p.prolang
      where not t.tgisinternal and t.tgenabled <> 'D' and (t.tgtype & 1) = 1
        and t.tgrelid = any(${masked.filter(({ hasRules }) => hasRules).map(({ oid }) => oid)}::oid[])
      order by 1, 2`
    return rows.flatMap((row): Exposure[] => {
      const relation = byOid.get(row.oid)
      if (!relation) return []
      const writes =
        row.language !== 'plpgsql' ||
        /\b(insert|update|copy|notify|pg_notify|raise|execute|perform)\b/i.test(row.text)
      return [
        {
          code: 'Trigger',
          severity: writes ? 'medium' : 'low',
          objects: [
            { kind: 'trigger', name: quoteIdentifier(row.name) },
            { kind: relation.kind, name: relation.name },
          ],
          roles: [],
          explanation: `The trigger runs ${row.routine} for each row that is written and hands it the raw values. ${
            writes
              ? 'Its text writes, notifies or raises: look where the values go and mask them there too.'
              : 'Its text only changes the row itself: look whether it copies a masked column into another one.'
          }`,
          remedy: `ALTER TABLE ${relation.name} DISABLE TRIGGER ${quoteIdentifier(row.name)}`,
          rule: null,
        },
      ]
    })
  },
}

/** A rule rewrites what others send to the table, and what it adds runs with the eyes of the table's owner. */
export const rewriteRules: ExposureClass = {
  code: 'RewriteRule',
  async find({ sql, masked, byOid }) {
    const rows = await sql<{ oid: number; name: string }[]>`
      select ev_class::int8 as oid, rulename::text as name from pg_catalog.pg_rewrite
      where rulename <> '_RETURN' and ev_enabled <> 'D'
        and ev_class = any(${masked.filter(({ hasRules }) => hasRules).map(({ oid }) => oid)}::oid[])
      order by 1, 2`
    return rows.flatMap((row): Exposure[] => {
      const relation = byOid.get(row.oid)
      if (!relation) return []
      return [
        {
          code: 'RewriteRule',
          severity: 'medium',
          objects: [
            { kind: 'rule', name: quoteIdentifier(row.name) },
            { kind: relation.kind, name: relation.name },
          ],
          roles: [],
          explanation: `The rule adds to, or replaces, what is sent to the table, and runs with the privileges of the table's owner: it can return or copy the raw values of the rows concerned.`,
          remedy: `ALTER TABLE ${relation.name} DISABLE RULE ${quoteIdentifier(row.name)}`,
          rule: null,
        },
      ]
    })
  },
}
