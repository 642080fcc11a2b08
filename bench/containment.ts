// The verdicts of 10,000 roles over 1,000 masked tables, to a plain query for the same roles and their memberships at
// any depth. The target is a second. Run: npx node bench/containment.ts
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { judgeRoles } from '../src/containment/judge-roles.ts'
import { openDatabase } from '../src/db/database.ts'
import { startEmbedded } from '../src/db/embedded.ts'
import { readConsistently } from '../src/db/read-consistently.ts'
import { median } from './median.ts'

const [roles, tables, rounds] = [10_000, 1_000, 9]

const directory = mkdtempSync(path.join(tmpdir(), 'masquerade-bench-'))
const server = await startEmbedded({ dataDir: directory, fast: true })
const database = openDatabase({ url: server.url, searchPath: 'public', statementTimeoutMs: 300_000 })
const { sql } = database

/** Groups of 20 in groups of groups, some with rights; tables with grants on each column, as masks leave them. */
async function fill(): Promise<void> {
  await sql.unsafe(`do 'begin
    create role owner; create schema app authorization owner; create role auditor;
    for at in 0..${roles - 1} loop
      execute format(''create role r%s %s'', at, case when at % 20 = 0 then '''' else ''login'' end);
      if at > 0 then execute format(''grant r%s to r%s'', at / 400 * 20, at); end if;
      if at >= 400 and at % 20 <> 0 then execute format(''grant r%s to r%s'', at / 20 * 20, at); end if;
    end loop; end'`)
  await sql.unsafe(`do 'begin
    for at in 1..${tables} loop
      execute format(''create table app.t%s (id int primary key, %s)'', at,
        (select string_agg(''c'' || c || '' text'', '', '') from generate_series(1, 10) c));
      execute format(''alter table app.t%s owner to owner;
        grant select (id, c1, c2, c3, c4, c5, c6, c7) on app.t%s to r20, r40'', at, at);
      execute format(''create view app.v%s as select * from app.t%s; grant select on app.v%s to r20, r40'', at, at, at);
    end loop; end'`)
  await sql.unsafe(`grant pg_read_all_data to r60; grant trigger on all tables in schema app to r80;
    create function public.f() returns int language sql as 'select 1';
    alter function public.f() owner to r100; analyze`)
}

async function measure<T>(run: () => Promise<T>): Promise<[ms: number, found: T]> {
  const start = performance.now()
  const found = await run()
  return [performance.now() - start, found]
}

const readPlainly = () => sql`
  with recursive reached (role, oid) as (
    select oid, oid from pg_roles
    union select r.role, m.roleid from reached r join pg_auth_members m on m.member = r.oid)
  select r.rolname::text as name, r.rolcanlogin, r.rolsuper, array_agg(c.oid::int4) as reached
  from pg_roles r join reached c on c.role = r.oid group by 1, 2, 3`

try {
  await fill()
  const [facts] = await sql<{ relations: number[]; self: number; exempt: number }[]>`
    select array(select oid::int4 from pg_class where relname ~ '^t[0-9]+$' and relkind = 'r') as relations,
      'auditor'::regrole::oid::int8 as exempt, (select oid::int8 from pg_roles where rolname = current_user) as self`
  if (!facts) throw new Error('nothing was filled in')
  const judge = () =>
    readConsistently(database, (sql) =>
      judgeRoles(sql, { ...facts, exempt: [facts.exempt], twinOwners: [], logins: [] }),
    )
  const times: Record<'plain' | 'verdicts', number[]> = { plain: [], verdicts: [] }
  let open = 0
  let count = 0
  for (let round = 0; round < rounds; round++) {
    times.plain.push((await measure(readPlainly))[0])
    const [ms, found] = await measure(judge)
    times.verdicts.push(ms)
    count = found.length
    open = found.filter(({ contained }) => !contained).length
  }
  const [plain, verdicts] = [median(times.plain), median(times.verdicts)]
  console.log(`${count} roles, ${open} not contained, ${facts.relations.length} masked tables`)
  console.log(`plain query ${plain.toFixed(0)} ms, verdicts ${verdicts.toFixed(0)} ms (target 1000)`)
  console.log(`verdicts to the plain query: ${(verdicts / plain).toFixed(2)}`)
} finally {
  await database.close()
  await server.stop()
  rmSync(directory, { recursive: true, force: true })
}
