import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { describeTurn } from '../../../src/findings/turns/describe-turn.ts'
import { takeTurn } from '../../../src/masks/turn.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'

const canary = 'zqcanary'

forEachCluster((cluster) => {
  describe('objects on masked tables', () => {
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    let [analyst, auditor, bob]: string[] = []
    const run = (text: string) => target.database.sql.unsafe(text)
    const readAs = (name: string, text: string) => target.runAs(name, text)
    const mask = async (rules: Parameters<typeof policy>[0]) => {
      const outcome = await takeTurn(target.database, policy(rules, [auditor ?? '']))
      const again = await takeTurn(target.database, policy(rules, [auditor ?? '']))
      assert.deepEqual(again.steps, [], 'the second time there is nothing to do')
      return outcome
    }
    before(async () => {
      target = await createMaskedDatabase(cluster)
      analyst = await target.createRole('analyst')
      auditor = await target.createRole('auditor')
      bob = await target.createRole('bob')
      await run(`
        create table public.people (id int primary key, name text, mail text);
        insert into public.people values (1, 'ann', '${canary}'), (2, 'bob', 'plain');
        create table public.secrets (id int, word text);
        insert into public.secrets values (1, 'sesame');
        grant usage on schema public to public;
        grant select on public.people to "${analyst}", "${auditor}", "${bob}";
        create schema bobs authorization "${bob}"; grant usage on schema bobs to public`)
    })
    after(() => target[Symbol.asyncDispose]())

    const rules = [rule('public.people.mail')]

    clause(
      'ENF-21',
      'The twin of a view belongs to the owner of the view and sees no more than that owner; only…',
      async () => {
        await run(`create schema audits authorization "${auditor}"; grant usage on schema audits to public`)
        await readAs(
          'auditor',
          `create view audits.theft as select p.id, s.word, p.mail from public.people p, public.secrets s;
          create view audits.fair as select id, mail from public.people;
          grant select on audits.theft, audits.fair to public`,
        )
        await readAs('bob', `create view bobs.own as select id, mail from public.people`)
        await mask(rules)
        await assert.rejects(readAs('bob', 'select * from bobs.own'), /permission denied for table people/)
        await assert.rejects(
          readAs('analyst', 'select * from masked_audits.theft'),
          /permission denied for table secrets/,
        )
        await assert.rejects(
          readAs('auditor', 'select * from masked_audits.theft'),
          /permission denied for table secrets/,
        )
        assert.deepEqual(await readAs('analyst', 'select mail from masked_audits.fair where id = 1'), [
          { mail: 'XXXX' },
        ])
        const reads = await run(
          `select distinct has_table_privilege(relowner, 'public.secrets', 'select') as reads
            from pg_class where relname = 'people' and relnamespace = 'masked_public'::regnamespace`,
        )
        assert.deepEqual(reads, [{ reads: false }])
      },
    )

    clause('ENF-22', 'The twin of a security invoker view looks with the privileges…', async () => {
      await run(`create view public.inv with (security_invoker = yes) as
        select p.id, p.mail, (select word from public.secrets limit 1) as word from public.people p;
        create view public.inv_open with (security_invoker) as select id, mail from public.people;
        grant select on public.inv, public.inv_open to "${analyst}"`)
      await mask(rules)
      await assert.rejects(
        readAs('analyst', 'select * from masked_public.inv'),
        /permission denied for table secrets/,
      )
      assert.deepEqual(await readAs('analyst', 'select mail from masked_public.inv_open where id = 1'), [
        { mail: 'XXXX' },
      ])
    })

    test('the owner of a view cannot use its twin’s schema for anything else', async () => {
      await mask(rules)
      await assert.rejects(
        readAs('auditor', 'create view masked_audits.more as select 1'),
        /permission denied for schema/,
      )
    })

    clause('ENF-23', 'A rule on a view or a materialized view masks it.', async () => {
      await run(`create table public.plain (id int, word text); insert into public.plain values (1, '${canary}');
        create view public.plain_view as select * from public.plain;
        create materialized view public.plain_stored as select * from public.plain;
        create view public.over_view as select word from public.plain_view;
        grant select on public.plain_view, public.plain_stored, public.over_view to "${analyst}", "${auditor}"`)
      await mask([...rules, rule('public.plain_view.word'), rule('public.plain_stored.word')])
      for (const name of ['plain_view', 'plain_stored', 'over_view']) {
        assert.deepEqual(
          await readAs('analyst', `select word from masked_public.${name}`),
          [{ word: 'XXXX' }],
          name,
        )
        await assert.rejects(readAs('analyst', `select word from public.${name}`), /permission denied/, name)
        assert.deepEqual(await readAs('auditor', `select word from public.${name}`), [{ word: canary }], name)
      }
      assert.deepEqual(await readAs('analyst', 'select id from public.plain_stored'), [{ id: 1 }])
      await mask([...rules, rule('public.inv_open.id')])
      assert.deepEqual(await readAs('analyst', 'select id, mail from masked_public.inv_open limit 1'), [
        { id: 0, mail: 'XXXX' },
      ])
      await mask(rules)
      assert.deepEqual(await readAs('analyst', 'select word from public.plain_view'), [{ word: canary }])
    })

    clause('ENF-24', 'A rule on a partition masks the tables that it is part of and…', async () => {
      await run(`create table public.parts (id int, word text) partition by list (id);
        create table public.parts_1 partition of public.parts for values in (1) partition by list (id);
        create table public.parts_11 partition of public.parts_1 for values in (1);
        create table public.parts_2 (word text, extra int, id int);
        alter table public.parts_2 drop column extra;
        alter table public.parts attach partition public.parts_2 for values in (2);
        insert into public.parts values (1, '${canary}'), (2, '${canary}');
        grant select on public.parts, public.parts_1, public.parts_11, public.parts_2 to "${analyst}"`)
      const parts = ['parts', 'parts_1', 'parts_11', 'parts_2']
      await mask([rule('public.parts_11.word')])
      for (const name of parts) {
        await assert.rejects(readAs('analyst', `select word from public.${name}`), /permission denied/, name)
        const words = await readAs('analyst', `select distinct word from masked_public.${name}`)
        assert.deepEqual(words, [{ word: 'XXXX' }], name)
      }
      await mask([rule('public.parts.word')])
      await run('alter table public.parts detach partition public.parts_2')
      await mask([rule('public.parts.word')])
      await assert.rejects(readAs('analyst', 'select word from public.parts_2'), /permission denied/)
      await run('alter table public.parts attach partition public.parts_2 for values in (2)')
      await mask([rule('public.parts.word')])
      await mask(rules)
      assert.equal((await readAs('analyst', 'select word from public.parts_2')).length, 1)
    })

    clause(
      'ENF-25',
      'A schema that is named like a shadow schema and belongs to another role stays…',
      async () => {
        await run(`create schema taken; create schema masked_taken; create table taken.t (id int, word text);
        insert into taken.t values (1, '${canary}'); create view masked_taken.t as select * from taken.t;
        grant usage on schema taken, masked_taken to public; grant select on taken.t, masked_taken.t to "${analyst}"`)
        const { plan } = await mask([...rules, rule('taken.t.word')])
        const twin = plan.masked.find(({ relation }) => relation.schema === 'taken')?.twin
        assert.match(twin?.schema ?? '', /^masked_[0-9a-f]{16}$/)
        assert.deepEqual(await readAs('analyst', `select word from ${twin?.schema}.t`), [{ word: 'XXXX' }])
        await assert.rejects(readAs('analyst', 'select * from masked_taken.t'), /permission denied/)
        await mask(rules)
        assert.deepEqual(await readAs('analyst', 'select word from masked_taken.t'), [{ word: canary }])
      },
    )

    clause('ENF-26', 'Names with quotes, other scripts or 63 bytes, dropped columns,…', async () => {
      const long = 'ö'.repeat(31)
      await run(`create schema "${long}"; create table "${long}"."${long}" (
          gone int, "Id ""x" int generated always as identity, "${long}" text, twice int generated always as (1 + 1) stored, gone2 text);
        alter table "${long}"."${long}" drop column gone; alter table "${long}"."${long}" drop column gone2;
        insert into "${long}"."${long}" ("${long}") values ('${canary}');
        create view "${long}"."v ""1" as select t."${long}" as "a""b", t."Id ""x" from "${long}"."${long}" t;
        grant usage on schema "${long}" to public; grant select on all tables in schema "${long}" to "${analyst}"`)
      const odd = { ...rule('x.y.z'), schema: long, table: long, column: long }
      const { plan } = await mask([...rules, odd])
      const shadow = plan.masked.find(({ relation }) => relation.schema === long)?.twin?.schema
      assert.ok(Buffer.byteLength(shadow ?? '') <= 63)
      assert.deepEqual(await readAs('analyst', `select * from "${shadow}"."${long}"`), [
        { 'Id "x': 1, [long]: 'XXXX', twice: 2 },
      ])
      assert.deepEqual(await readAs('analyst', `select * from "${shadow}"."v ""1"`), [
        { 'a"b': 'XXXX', 'Id "x': 1 },
      ])
    })

    clause(
      'ENF-27',
      'Temporary objects are left alone, and so are objects that users build on a twin while it stays in its…',
      async () => {
        await mask(rules)
        const { transaction } = target.connectAs('auditor')
        await transaction(async (tx) => {
          await tx.unsafe('create temp view mine as select * from public.people')
          assert.equal((await tx.unsafe('select mail from mine where id = 1'))[0]?.mail, canary)
        })
        await readAs('bob', 'create view bobs.report as select mail from masked_public.people')
        await mask(rules)
        assert.equal((await readAs('bob', 'select mail from bobs.report'))[0]?.mail, 'XXXX')
        await readAs('bob', 'drop view bobs.report')
      },
    )

    clause('ENF-28', 'Row policies hold through a twin: it never shows more rows than…', async () => {
      await run(`create table public.rows (id int, who text, word text);
        insert into public.rows values (1, 'all', '${canary}'), (2, 'few', '${canary}');
        alter table public.rows enable row level security;
        create policy open on public.rows using (true);
        create policy narrow on public.rows as restrictive to "${analyst}" using (who = 'all');
        create view public.rows_view as select * from public.rows;
        grant select on public.rows, public.rows_view to "${analyst}", "${bob}"`)
      const notes = describeTurn(await mask([...rules, rule('public.rows.word')]))
      // A policy that restricts certain roles would not bind the owner of the twin, so there is none.
      for (const name of ['analyst', 'bob']) {
        for (const from of ['public.rows_view', 'public.rows'])
          await assert.rejects(readAs(name, `select word from ${from}`), /permission denied/, from)
        await assert.rejects(readAs(name, 'select id from masked_public.rows'), /does not exist/)
      }
      assert.deepEqual(await readAs('analyst', 'select id from public.rows'), [{ id: 1 }])
      const listTargets = (wanted: string) =>
        notes.filter(({ code }) => code === wanted).map(({ target: name }) => name)
      assert.deepEqual(listTargets('RowSecurity'), [])
      assert.deepEqual(listTargets('NoTwin'), ['public.rows', 'public.rows_view'])
      await run('drop policy narrow on public.rows')
      await mask([...rules, rule('public.rows.word')])
      assert.equal((await readAs('bob', 'select id from masked_public.rows')).length, 2)
      await run(
        `create policy only_bob on public.rows to "${bob}" using (true); drop policy open on public.rows`,
      )
      await mask([...rules, rule('public.rows.word')])
      assert.deepEqual(
        await readAs('bob', 'select id from masked_public.rows'),
        [],
        'never more rows than before',
      )
    })

    clause('ENF-29', 'A view that PostgreSQL refuses over twins is closed to masked…', async () => {
      await run(`create view public.grouped as select p.id, p.name, p.mail, count(*) from public.people p group by p.id;
        grant select on public.grouped to "${analyst}"`)
      const { notes } = await mask(rules)
      assert.ok(notes.some(({ code, target: name }) => code === 'NoTwin' && name === 'public.grouped'))
      await assert.rejects(readAs('analyst', 'select * from public.grouped'), /permission denied/)
      await run(`create table public.old (id int, word text); create table public.young (extra text) inherits (public.old);
        insert into public.young values (1, '${canary}', 'child'); insert into public.old values (2, '${canary}');
        create view public.only_old as select o.id, o.word from only public.old o;
        create view public.over_only as select * from public.only_old;
        create view public.sampled as select word from public.old tablesample system (100);
        create view public.systematic as select tableoid, word from public.old;
        grant select on public.only_old, public.over_only, public.sampled, public.systematic to "${analyst}"`)
      const closed = ['only_old', 'over_only', 'sampled', 'systematic']
      const { notes: more } = await mask([...rules, rule('public.old.word')])
      for (const name of closed) {
        assert.ok(
          more.some((note) => note.code === 'NoTwin' && note.target === `public.${name}`),
          name,
        )
        await assert.rejects(readAs('analyst', `select * from public.${name}`), /permission denied/)
        await assert.rejects(readAs('analyst', `select * from masked_public.${name}`), /does not exist/)
      }
      assert.equal((await readAs('auditor', 'select mail from public.people where id = 1'))[0]?.mail, canary)
      await run('drop view public.grouped')
    })

    clause(
      'ENF-30',
      'A turn that looks at some tables neither unmasks others nor reads them raw.',
      async () => {
        await run(`create table public.left_side (id int, word text); insert into public.left_side values (1, '${canary}');
        create table public.right_side (id int, word text); insert into public.right_side values (1, '${canary}');
        create view public.both as select l.word as l, r.word as r from public.left_side l join public.right_side r using (id);
        create table public.whole (id int, word text) partition by list (id);
        create table public.piece partition of public.whole for values in (1); insert into public.whole values (1, '${canary}');
        grant select on all tables in schema public to "${analyst}"; revoke select on public.secrets from "${analyst}"`)
        const all = ['left_side', 'right_side', 'whole'].map((name) => rule(`public.${name}.word`))
        await mask(all)
        const left = all.map((each) =>
          each.table === 'left_side' ? { ...each, maskingFunction: 'Email' as const } : each,
        )
        const focus = (table: string) => ({ focus: () => [{ schema: 'public', table }] })
        const now = policy(left, [auditor ?? ''])
        await takeTurn(target.database, now, focus('left_side'))
        assert.deepEqual(await readAs('analyst', 'select * from masked_public.both'), [
          { l: 'zXXX@XXXX.com', r: 'XXXX' },
        ])
        for (const table of ['right_side', 'piece', 'whole', 'both'])
          await takeTurn(target.database, now, focus(table))
        for (const table of ['right_side', 'piece', 'whole', 'both'])
          await assert.rejects(readAs('analyst', `select * from public.${table}`), /permission denied/, table)
        assert.deepEqual((await takeTurn(target.database, now)).steps, [])
      },
    )
  })
})
