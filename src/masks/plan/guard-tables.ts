import { quoteIdentifier, quoteLiteral, quoteQualified } from '../../db/quote.ts'
import { driftFunction, driftTrigger } from '../names.ts'
import { entryOf } from './finish.ts'

export function createGuards(schema: string): string[] {
  const name = quoteIdentifier(schema)
  const [relation, policy] = [quoteQualified(schema, 'relation'), quoteQualified(schema, 'policy')]
  return [
    `CREATE SCHEMA ${name}`,
    `CREATE TABLE ${relation} (oid oid PRIMARY KEY, pins jsonb NOT NULL, hides_all boolean NOT NULL,
      before jsonb NOT NULL, granted jsonb, twin jsonb, twin_oid oid, basis text, twin_rule text,
      updated_at timestamptz NOT NULL DEFAULT now(), opened_at timestamptz)`,
    `CREATE TABLE ${policy} (singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
      exempt text[] NOT NULL DEFAULT '{}', exempt_oids bigint[] DEFAULT '{}', open jsonb NOT NULL DEFAULT '[]',
      owner uuid, database oid, self oid, epoch bigint)`,
    `INSERT INTO ${policy} (self) VALUES (${quoteLiteral(relation)}::regclass)`,
    ...createPlaces(schema),
  ]
}

const createPlaces = (schema: string) => [
  `CREATE TABLE ${quoteQualified(schema, 'twin_owner')} (served oid PRIMARY KEY, role oid NOT NULL)`,
  `CREATE TABLE ${quoteQualified(schema, 'shadow')} (source oid PRIMARY KEY, shadow oid NOT NULL)`,
]

/** Records of releases before 0.3 get the form of this one, and what their twins tell. */
export function upgradeGuards(schema: string, version: number): string[] {
  const on = (table: string) => quoteQualified(schema, table)
  const twins = `${on('relation')} g JOIN pg_class c ON c.oid = g.oid
    JOIN pg_namespace s ON s.nspname = g.twin ->> 'schema'
    JOIN pg_class t ON t.relnamespace = s.oid AND t.relname = g.twin ->> 'name'`
  return [
    `ALTER TABLE ${on('relation')} ADD COLUMN IF NOT EXISTS rights jsonb,
      ADD COLUMN before jsonb, ADD COLUMN granted jsonb, ADD COLUMN twin_oid oid,
      ADD COLUMN basis text, ADD COLUMN twin_rule text, ADD COLUMN opened_at timestamptz`,
    `UPDATE ${on('relation')} SET before = coalesce((SELECT jsonb_agg(DISTINCT jsonb_build_object(
        'column', coalesce((g ->> 'column')::int, 0), 'grantee', g -> 'grantee',
        'kind', coalesce(g ->> 'privilege', 'SELECT'), 'grantable', g -> 'grantable'))
      FROM jsonb_array_elements(grants || column_grants || coalesce(rights, '[]')) g
      WHERE (g ->> 'lent')::boolean IS NOT TRUE), '[]')`,
    `ALTER TABLE ${on('relation')} ALTER COLUMN before SET NOT NULL, DROP COLUMN grants,
      DROP COLUMN column_grants, DROP COLUMN rights, DROP COLUMN lent, DROP COLUMN IF EXISTS acl_order`,
    `ALTER TABLE ${on('policy')} ADD COLUMN IF NOT EXISTS self oid, ADD COLUMN IF NOT EXISTS epoch bigint,
      ADD COLUMN IF NOT EXISTS owner uuid, ADD COLUMN IF NOT EXISTS database oid,
      ADD COLUMN IF NOT EXISTS exempt_oids bigint[], ADD COLUMN IF NOT EXISTS open jsonb NOT NULL DEFAULT '[]'`,
    `UPDATE ${on('policy')} SET open = coalesce((SELECT jsonb_agg(${entryOf('r.oid')})
      FROM pg_catalog.pg_roles r WHERE r.rolname = ANY (ending)), open) WHERE ending <> '{}'`,
    `UPDATE ${on('policy')} SET ending = '{}', self = coalesce(self, ${quoteLiteral(on('relation'))}::regclass)`,
    ...createPlaces(schema),
    `UPDATE ${on('relation')} r SET twin_oid = t.oid FROM ${twins} WHERE g.oid = r.oid`,
    `INSERT INTO ${on('shadow')} SELECT DISTINCT ON (c.relnamespace) c.relnamespace, s.oid FROM ${twins} ORDER BY 1, 2`,
    `INSERT INTO ${on('twin_owner')} SELECT DISTINCT ON (c.relowner) c.relowner, t.relowner FROM ${twins}
      JOIN pg_roles o ON o.oid = t.relowner AND starts_with(o.rolname, 'masquerade_twins_')
      WHERE c.relkind IN ('r', 'p', 'f') ORDER BY 1, 2`,
    takeSchemas(on('shadow'), version),
  ]
}

/** Owners of twins owned the schemas of these, in which the binding could then drop nothing. */
function takeSchemas(shadows: string, version: number): string {
  const join = (option: string) =>
    version < 160000 ? '' : `EXECUTE format('GRANT %I TO CURRENT_USER WITH INHERIT ${option}', former.owner);`
  return `DO $$ DECLARE former record; BEGIN FOR former IN
      SELECT n.nspname AS name, r.rolname AS owner FROM ${shadows} s JOIN pg_namespace n ON n.oid = s.shadow
      JOIN pg_roles r ON r.oid = n.nspowner WHERE starts_with(r.rolname, 'masquerade_twins_')
    LOOP ${join('TRUE')} EXECUTE format('ALTER SCHEMA %I OWNER TO CURRENT_USER', former.name);
      EXECUTE format('GRANT CREATE, USAGE ON SCHEMA %I TO %I', former.name, former.owner); ${join('FALSE')}
    END LOOP; END $$`
}

/**
 * Needs a superuser. Where there is none, the periodic audit finds what this would have told within a second. One row
 * for each transaction that changes the catalog: transactions never wait for each other's rows, and a change succeeds
 * where the table is gone. Unlogged, the rows are in no publication.
 */
export function createWatch(schema: string): string[] {
  const driftTable = quoteQualified(schema, 'drift')
  const noteDrift = quoteQualified(schema, driftFunction)
  return [
    `CREATE UNLOGGED TABLE IF NOT EXISTS ${driftTable} (transaction bigint PRIMARY KEY)`,
    `REVOKE ALL ON ${driftTable} FROM PUBLIC`,
    `CREATE OR REPLACE FUNCTION ${noteDrift}() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp AS $$ BEGIN
      IF tg_tag <> 'COMMENT' AND to_regclass(${quoteLiteral(driftTable)}) IS NOT NULL THEN
        INSERT INTO ${driftTable} VALUES (txid_current()) ON CONFLICT DO NOTHING; END IF; END $$`,
    `DROP EVENT TRIGGER IF EXISTS ${quoteIdentifier(driftTrigger)}`,
    `CREATE EVENT TRIGGER ${quoteIdentifier(driftTrigger)} ON ddl_command_end EXECUTE FUNCTION ${noteDrift}()`,
  ]
}
