import assert from 'node:assert/strict'
import { after, before, beforeEach, describe } from 'node:test'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule, takeTurns } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'

/** Twins whose columns have other types than those of their views. */
forEachCluster((cluster) => {
  describe('steady twins', () => {
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    let reader = ''
    const run = (text: string) => target.database.sql.unsafe(text)
    const rules = ['hr.client.mail', 'hr.client.nick'].map((place) => rule(place))
    const enforce = async (wanted = rules) => (await takeTurns(target.database, policy(wanted))).steps
    const typeOf = async (view: string, column: string) => {
      const [row] = await run(`select format_type(atttypid, atttypmod) as type from pg_attribute
        where attrelid = 'masked_hr.${view}'::regclass and attname = '${column}'`)
      return row?.type
    }
    const identify = async () => {
      const rows = await run(`select relname, oid from pg_class where relkind = 'v'
        and relnamespace = 'masked_hr'::regnamespace order by 1`)
      return new Map(rows.map(({ relname, oid }) => [relname, oid]))
    }

    before(async () => {
      target = await createMaskedDatabase(cluster)
      reader = await target.createRole('reader')
      await run('create extension citext schema public')
    })
    after(() => target[Symbol.asyncDispose]())
    beforeEach(async () => {
      await enforce([])
      await run(`drop schema if exists hr cascade; create schema hr; grant usage on schema hr to public;
        create domain hr.address as text; create table hr.client (id int, mail hr.address, nick citext, note text);
        insert into hr.client values (1, 'a@b.c', 'al', 'one');
        create view hr.gathered as select id, array_agg(mail) as mails from hr.client group by id;
        create view hr.nicks as select id, nullif(nick, '') as nick from hr.client;
        create view hr.whole as select c.id, c as client from hr.client c;
        grant select on all tables in schema hr to "${reader}"`)
    })

    const kept =
      'A turn leaves a twin as it is that is wanted and defined as when it was made, also where its columns…'

    clause('ENF-380', kept, async () => {
      assert.notEqual((await enforce()).length, 0)
      assert.deepEqual(
        [await typeOf('gathered', 'mails'), await typeOf('nicks', 'nick'), await typeOf('whole', 'client')],
        ['text[]', 'text', 'masked_hr.client'],
      )
      const made = await identify()
      assert.deepEqual(await enforce(), [])
      // What stands is not made again for a change elsewhere.
      await run('create table hr.other (id int, mail text)')
      assert.notEqual((await enforce([...rules, rule('hr.other.mail')])).length, 0)
      const later = await identify()
      assert.equal(later.delete('other'), true)
      assert.deepEqual(later, made)
    })

    clause('ENF-380', kept, async () => {
      await enforce()
      // Unmasked in the twin of the table, the column has its domain there.
      const noted = [rule('hr.client.note')]
      await enforce(noted)
      assert.equal(await typeOf('gathered', 'mails'), 'hr.address[]')
      assert.deepEqual(await enforce(noted), [])
      await enforce()
      assert.equal(await typeOf('gathered', 'mails'), 'text[]')
      await run(`drop view hr.gathered, hr.nicks;
        create view hr.gathered as select id, count(mail) as mails from hr.client group by id;
        create view hr.nicks as select id, length(nick) as nick from hr.client;
        grant select on all tables in schema hr to "${reader}"`)
      assert.notEqual((await enforce()).length, 0)
      assert.deepEqual(
        [await typeOf('gathered', 'mails'), await typeOf('nicks', 'nick')],
        ['bigint', 'integer'],
      )
      assert.deepEqual(await enforce(), [])
      assert.deepEqual(await target.runAs('reader', 'select mails::int from masked_hr.gathered'), [
        { mails: 1 },
      ])
    })

    const shared =
      'A twin that an earlier release made stays the same view, with what was built on it, where its owner, name and columns…'
    const called = `create or replace view hr.called as select id, hr.show(mail) as mail, hr.show(note) as shown from hr.client;
      grant select on hr.called to public`
    /** As the last release records twins. */
    const recordAsFormer = () =>
      run(`alter table masquerade_guard.relation add grants jsonb not null default '[]', add column_grants jsonb not null default '[]',
          add lent bigint[] not null default '{}';
        update masquerade_guard.relation set grants = coalesce((select jsonb_agg(jsonb_build_object(
          'grantor', 0, 'grantee', e -> 'grantee', 'grantable', false)) from jsonb_array_elements(before) e), '[]');
        alter table masquerade_guard.relation drop column before, drop column granted, drop column twin_oid, drop column basis,
          drop column twin_rule, drop column opened_at;
        alter table masquerade_guard.policy add ending text[] not null default '{}';
        drop table masquerade_guard.twin_owner, masquerade_guard.shadow`)
    const define = (type: string) =>
      run(
        `create function hr.show(v ${type}) returns text language sql immutable as $$ select '${type}' $$; ${called}`,
      )

    clause('ENF-381', shared, async () => {
      await define('anyelement')
      await run(`alter table hr.client enable row level security; create policy every on hr.client using (true);
        create table hr.restricted (id int, mail hr.address, mood text); alter table hr.restricted enable row level security;
        create policy every on hr.restricted using (true);
        create policy narrow on hr.restricted as restrictive to "${reader}" using (hr.show(mood) <> '')`)
      const all = [...rules, rule('hr.restricted.mail')]
      await enforce(all)
      const made = await identify()
      await recordAsFormer()
      await enforce(all)
      assert.deepEqual(await identify(), made)
      assert.deepEqual(await enforce(all), [])
    })

    clause('ENF-381', shared, async () => {
      await define('anyelement')
      await enforce()
      await recordAsFormer()
      // The view calls another function by the same text, which its former twin does not.
      await define('text')
      await enforce()
      assert.deepEqual(await target.runAs('reader', 'select shown from masked_hr.called'), [
        { shown: 'text' },
      ])
      assert.deepEqual(await enforce(), [])
    })
  })
})
