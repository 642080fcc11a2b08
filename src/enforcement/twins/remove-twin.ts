import { quoteIdentifier, quoteLiteral, quoteQualified } from '../../db/quote.ts'
import type { ObservedTwin } from '../catalog.ts'
import { forgetTwin } from '../guard/guard-steps.ts'
import { twinEmptied } from '../notes.ts'
import type { Plan, Step } from '../plan.ts'
import { refuseStrays } from './stray-makers.ts'

type Standing = Pick<ObservedTwin, 'schema' | 'name' | 'owner'>

/** Drops a twin. One that objects of others read stays for them as a view that reads nothing, and gives its name up where a twin is to have it. */
export function removeTwin(plan: Plan, twin: Standing, why: string): Step {
  const name = quoteQualified(twin.schema, twin.name)
  return {
    sql: `DROP VIEW IF EXISTS ${name}`,
    why,
    as: plan.desired.twinOwner,
    together: `removal of ${name}`,
    otherwise: emptyTwin(plan, twin),
    refusal: twinEmptied(twin),
  }
}

/** Drops twins at once, as they read one another; each by itself where objects of others read one. In this order. */
export function removeTwins(plan: Plan, twins: readonly Standing[], why: string): Step[] {
  if (twins.length === 0) return []
  const names = twins.map(({ schema, name }) => quoteQualified(schema, name))
  return [
    {
      sql: `DROP VIEW ${names.join(', ')}`,
      why,
      as: plan.desired.twinOwner,
      together: 'removal of twins',
      otherwise: twins.map((twin) => removeTwin(plan, twin, why)),
    },
  ]
}

/** Drops what is left of twins once nothing reads it, unless a twin is made in its place. */
export function dropEmptied({ snapshot, desired }: Plan): Step[] {
  const isWanted = (name: string) =>
    desired.masked.some(({ twin }) => twin && quoteQualified(twin.schema, twin.name) === name)
  return snapshot.emptied
    .filter(({ isRead }) => !isRead)
    .map(({ schema, name }) => quoteQualified(schema, name))
    .filter((name) => !isWanted(name))
    .map((name) => ({
      sql: `DROP VIEW IF EXISTS ${name}`,
      why: 'nothing reads what is left of the twin',
      as: desired.twinOwner,
      orElse: { sql: 'SELECT 1', why: 'something reads it by now' },
    }))
}

/**
 * A view that reads nothing holds up no change of the table, and nothing that reads the view shows a value. It fails rather than being
 * empty: a materialized view over it keeps its rows.
 */
function emptyTwin({ snapshot, desired }: Plan, { schema, name, owner }: Standing): Step[] {
  const isWanted = ({ twin }: Plan['desired']['masked'][number]) =>
    twin?.schema === schema && twin.name === name
  const why = 'objects of others read it'
  const empty: Step[] = [
    { sql: writeEmptying(schema, name, desired.masked.some(isWanted)), why, as: owner },
    ...(snapshot.guard.isThere ? [forgetTwin(snapshot.guard.schema, schema, name)] : []),
  ]
  const isMaker =
    owner === desired.twinOwner ||
    (snapshot.shadowMakers.get(schema)?.includes(owner) && desired.makers.includes(owner)) ||
    desired.masked.some(({ twin }) => twin?.schema === schema && twin.owner === owner && isOwner(owner))
  if (isMaker) return empty
  const right = `CREATE ON SCHEMA ${quoteIdentifier(schema)}`
  const step = (sql: string): Step => ({ sql, why, as: desired.twinOwner })
  return [
    step(`GRANT ${right} TO ${quoteIdentifier(owner)}`),
    ...empty,
    step(`REVOKE ${right} FROM ${quoteIdentifier(owner)}`),
    refuseStrays(schema, desired),
  ]

  function isOwner(role: string): boolean {
    return desired.owners.some((one) => one.name === role)
  }
}

/** Columns keep their types and collations, without which PostgreSQL does not replace a view. The oid makes the new name free, unless a role has a view of that name: then so many `_` are added. */
function writeEmptying(schema: string, name: string, isRenamed: boolean): string {
  const view = quoteLiteral(quoteQualified(schema, name))
  const message = `${schema}.${name} has no or other columns now: create what reads it again`
  const rename = `freed := 'former_' || twin;
    WHILE EXISTS (SELECT FROM pg_class c WHERE c.relname = freed AND c.relnamespace = home) LOOP freed := freed || '_'; END LOOP;
    EXECUTE format('ALTER VIEW %s RENAME TO %I', ${view}, freed);`
  const body = `DECLARE twin oid := to_regclass(${view}); home oid; freed text; names text; nulls text; BEGIN
    SELECT c.relnamespace INTO home FROM pg_class c WHERE c.oid = twin;
    SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum), string_agg(format('NULL::%s%s', format_type(a.atttypid, a.atttypmod),
        CASE WHEN a.attcollation <> 0 THEN ' COLLATE ' || a.attcollation::regcollation END), ', ' ORDER BY a.attnum)
      INTO names, nulls FROM pg_attribute a WHERE a.attrelid = twin AND a.attnum > 0;
    EXECUTE format('CREATE OR REPLACE VIEW %s (%s) AS SELECT %s WHERE %L::text::boolean', ${view}, names, nulls, ${quoteLiteral(message)});
    ${isRenamed ? rename : ''} END`
  return `DO ${quoteLiteral(body)}`
}
