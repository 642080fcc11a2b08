import { reconcile } from '../../../src/enforcement/reconcile.ts'
import type { ClusterName } from '../../support/cluster.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'

export const canary = 'zqcanary'

/** The role owner has the masked tables hr.client and hr.pay; the masked role mallory has the schema lair. */
export async function prepare(cluster: ClusterName, isSuperuser: boolean, isOwnerTrusted = false) {
  const target = await createMaskedDatabase(cluster)
  const mallory = await target.createRole('mallory')
  const other = await target.createRole('owner', 'NOLOGIN')
  const binder = await target.createRole('binder', 'LOGIN CREATEROLE')
  const database = target.url.replace(/^.*\//, '')
  const run = (text: string) => target.database.sql.unsafe(text)
  const [row] = await run('select current_user::text as name')
  const owner = isOwnerTrusted ? (isSuperuser ? String(row?.name) : binder) : other
  await run(`create schema hr; grant usage on schema hr to public; create schema lair authorization "${mallory}";
    grant usage on schema lair to public; grant create on database "${database}" to "${binder}";
    grant create on schema hr to "${other}", "${binder}"; grant "${other}", "${mallory}" to "${binder}";
    create table hr.client (id int, region int, mail text); insert into hr.client values (1, 1, 'x@hr.example');
    create table hr.pay (id int, salary text); insert into hr.pay values (1, '${canary}');
    create table hr.region (region int); insert into hr.region values (1); grant select on hr.region to public;
    alter table hr.client owner to "${owner}"; alter table hr.pay owner to "${owner}"; alter table hr.region owner to "${owner}";
    grant select on hr.client, hr.pay to "${mallory}"`)
  const binding = isSuperuser ? target.database : target.connectAs('binder')
  const runAs = (text: string) => target.runAs('mallory', text)
  await runAs(`create table lair.assignment (region int); insert into lair.assignment values (1);
    grant select on lair.assignment to public; create view lair.assigned as select region from lair.assignment;
    grant select on lair.assigned to public`)
  return {
    target,
    owner,
    binder,
    mallory,
    run,
    runAs,
    ownerOf: async (view: string) =>
      String(
        (
          await run(`select relowner::regrole::text as owner from pg_class where oid = '${view}'::regclass`)
        )[0]?.owner,
      ),
    binding,
    mask: (...names: string[]) => reconcile(binding, policy(names.map((name) => rule(name)))),
    /** What mallory gets to see, errors included. */
    look: (text: string): Promise<string> =>
      runAs(text).then(
        (rows) => JSON.stringify(rows),
        (error: Error) => error.message,
      ),
  }
}

export const masked = ['hr.client.mail', 'hr.pay.salary']
export const spy = `((select string_agg(s::text, ',') from hr.pay s) || 'x')::int is not null`
/** The rows of hr.client are those of the regions in `from`. */
export const limit = (from: string, more = '') =>
  `alter table hr.client enable row level security; create policy p on hr.client ${more} using (region in (select region from ${from}))`
