import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { clause } from '../../support/clause.ts'
import { majorOf } from '../../support/cluster.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { email, useWatchedDatabase, value } from '../../support/watched-database.ts'

forEachCluster((cluster) => {
  describe('raw reads right after a GRANT', () => {
    const database = useWatchedDatabase(cluster, ['auditor', 'analyst', 'helper'], async (all) => {
      await run(`create table public.people (id int primary key, name text, email text);
        insert into public.people values (1, 'Ann', '${value}');
        create schema closed; create table closed.notes (id int, email text);
        insert into closed.notes values (1, '${value}');
        create table public.notes (id int, email text); insert into public.notes values (1, 'open');
        grant select on closed.notes, public.notes to ${role('auditor')};
        grant select, update on public.people to ${role('auditor')}, ${role('analyst')};
        grant usage on schema public to ${all}`)
      await mask([email, 'closed.notes.email'], ['auditor'])
      await run(`create view public.old as select email from public.people; alter view public.old owner to ${role('auditor')};
        create view public.over as select email from public.old;
        create materialized view public.stored as select email from public.people;
        create table public.news (id int);
        create rule shows as on insert to public.news do also select email from public.people;
        create view public.masks as select email from masked_public.people;
        grant select on public.masks to ${role('analyst')}`)
    })
    const { gateway, role, run, mask } = database

    /** A session that begins before the grant; `given` is undone behind its statement. */
    function watch(
      name: string,
      text: string,
      { path = 'public', given = [] }: { path?: string; given?: readonly string[] } = {},
    ) {
      const change = (verb: 'grant' | 'revoke') => async () => {
        for (const each of given)
          await run(`${verb} ${each} ${verb === 'grant' ? 'to' : 'from'} ${role(name)}`)
      }
      return database.watch(name, `set search_path = ${path}`, change('grant'), text, change('revoke'))
    }

    clause(
      'GATE-283',
      'A read that is not moved to a twin is raw in the audit wherever a privilege would make it raw,…',
      async () => {
        for (const name of ['old', 'over', 'stored', 'people']) {
          const text = `select email from public.${name}`
          const { shown, raw, masked } = await watch('helper', text, { given: [`select on public.${name}`] })
          assert.match(shown, new RegExp(value), text)
          assert.deepEqual([raw, masked], [[email], []], text)
        }
        const news = await watch('helper', 'insert into public.news values (1)', {
          given: ['insert on public.news'],
        })
        assert.match(news.shown, new RegExp(value))
        assert.deepEqual([news.raw, news.masked], [[email], []])
        // Twins do not serve rows that are locked or returned.
        for (const text of [
          'select email from public.people for update',
          'update public.people set name = name returning email',
        ]) {
          const { shown, raw, masked } = await watch('analyst', text, {
            given: ['select (email) on public.people'],
          })
          assert.match(shown, new RegExp(value), text)
          assert.deepEqual([raw, masked], [[email], []], text)
        }
        // Without the grant PostgreSQL denies it, and the audit says the same.
        const denied = await watch('helper', 'select email from public.old')
        assert.match(denied.shown, /^42501 /)
        assert.deepEqual(denied.raw, [email])
      },
    )

    clause(
      'GATE-283',
      'A read that is not moved to a twin is raw in the audit wherever a privilege would make it raw,…',
      async () => {
        for (const name of ['people', 'masks']) {
          const { shown, raw, masked } = await watch('analyst', `select email from public.${name}`)
          assert.doesNotMatch(shown, new RegExp(`${value}|42501`))
          assert.deepEqual([raw, masked], [[], [email]], `${name} shows masks`)
        }
        const writes = [
          `update public.people set name = 'Ann' where id = 1`,
          'update public.people set name = name where id in (select n from generate_series(1, 2) n)',
          'select id from public.people for update',
        ]
        for (const text of writes) {
          const { shown, raw, masked } = await watch('analyst', text)
          assert.deepEqual([raw, masked], [[], []], text)
          assert.doesNotMatch(shown, /^42501/, text)
        }
      },
    )

    clause(
      'GATE-284',
      'A masked relation on the search path counts for a name without a schema whether or not the role may…',
      async () => {
        await run(`create view closed.report as select email from public.people; alter view closed.report owner to ${role('auditor')};
          create table public.report (email text); grant select on public.report to ${role('helper')}`)
        await gateway().refresh()
        const text = `select set_config('search_path', 'closed, public', false); select email from report`
        const given = ['usage on schema closed', 'select on closed.report']
        const { shown, raw, isUnparsed } = await watch('helper', text, { given })
        assert.match(shown, new RegExp(value))
        assert.ok(isUnparsed || raw.includes(email))
      },
    )

    clause(
      'GATE-284',
      'A masked relation on the search path counts for a name without a schema whether or not the role may…',
      async () => {
        const text = 'select email from notes'
        const path = 'closed, public'
        const { shown, raw, isUnparsed } = await watch('auditor', text, {
          path,
          given: ['usage on schema closed'],
        })
        assert.match(shown, new RegExp(value))
        // Before 18 PostgreSQL does not report its path.
        assert.ok(raw.includes('closed.notes.email') || (majorOf(cluster) < 18 && isUnparsed))
        const elsewhere = await watch('auditor', text)
        assert.deepEqual([elsewhere.shown, elsewhere.raw], ['[[{"email":"open"}]]', []])
        // A path that the gateway has not heard of.
        const sets = `select set_config('search_path', 'closed, public', false); ${text}`
        const unheard = await watch('auditor', sets, { given: ['usage on schema closed'] })
        assert.match(unheard.shown, new RegExp(value))
        assert.ok(unheard.isUnparsed || unheard.raw.includes('closed.notes.email'))
      },
    )
  })
})
