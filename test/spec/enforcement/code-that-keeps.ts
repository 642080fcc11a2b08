import type { Database } from '../../../src/db/database.ts'

/** An exempt role. */
export const etl = { roles: { etl: 'LOGIN' }, exempt: ['etl'] } as const

/** An exempt role with a schema, and a schema of the analyst's in which the exempt role reads and writes. */
export const both = `grant select on public.person to $etl; create schema own authorization $analyst; create schema desk authorization $etl;
  grant usage on schema own to $etl; grant usage on schema desk to $analyst; alter default privileges for role $analyst grant all on tables to $etl`

const keep = `create table if not exists own.kept (seen text); grant insert on own.kept to public;
  create or replace function own.keep() returns int language plpgsql as $f$ begin
    insert into own.kept select email from public.person; return 1; end $f$; grant usage on schema own to public`

/** Has code of the session run with the rights of another role; returns what the code kept. */
export const keepBy =
  (make: string, run: string, by: 'session' | 'owner' = 'session', clean = '') =>
  async (session: Database, owner: Database) => {
    await session.sql.unsafe(`drop table if exists own.kept; ${keep}; ${make}`)
    await (by === 'owner' ? owner : session).sql.unsafe(run)
    const seen = JSON.stringify(await session.sql.unsafe('select seen from own.kept'))
    if (clean !== '') await session.sql.unsafe(clean)
    return seen
  }
