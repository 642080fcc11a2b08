import assert from 'node:assert/strict'
import { after, before, beforeEach, describe } from 'node:test'
import { readMaskedFor } from '../../../src/enforcement/per-role/read-masked.ts'
import { readSources } from '../../../src/enforcement/per-role/read-sources.ts'
import type { Policy } from '../../../src/enforcement/policy.ts'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { PartlyEnforced } from '../../../src/enforcement/reconcile-by-relation.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'

const canary = 'zqcanary'

/** A trusted role keeps rows of a masked table in a materialized view, which it reads through a view of a masked role. */
forEachCluster((cluster) => {
  describe('materialized views over views of masked roles', () => {
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    let reader: string
    const run = (text: string) => target.database.sql.unsafe(text)
    const mail = rule('app.people.mail')
    const other = rule('app.others.mail')
    const turn = (wanted: Policy = policy([mail, other])) => reconcile(target.database, wanted)
    const read = (name: string) => target.runAs('reader', `select mail from ${name}`)
    const isDenied = (name: string) => assert.rejects(read(name), /permission denied/, name)
    const notesOf = async () => (await turn()).notes.filter(({ code }) => code === 'CopyClosed')

    before(async () => {
      target = await createMaskedDatabase(cluster)
      reader = await target.createRole('reader')
      await target.createRole('keeper', 'NOLOGIN')
      await target.createRole('maker')
    })
    const restore = async () => {
      const [keeper, maker] = [target.role('keeper'), target.role('maker')]
      await run(`drop schema if exists app, lair cascade; create schema app authorization "${keeper}"; create schema lair authorization "${maker}";
        grant usage on schema app, lair to public; set role "${keeper}";
        create table app.people (id int, mail text); insert into app.people values (1, '${canary}');
        create table app.others (id int, mail text); grant select on app.people, app.others to "${maker}";
        set role "${maker}"; create view lair.view as select id, mail from app.people;
        create view lair.wide as select mail, ${manyColumns('id', 1_503)} from app.people;
        grant select on lair.view, lair.wide to "${keeper}"; set role "${keeper}";
        create materialized view app.copy as select id, mail from lair.view;
        create materialized view app.wide as select mail from lair.wide;
        create view app.over as select mail from app.copy;
        grant select on app.copy, app.wide, app.over to "${reader}"; reset role`)
    }
    beforeEach(restore)
    after(() => target[Symbol.asyncDispose]())

    clause(
      'ENF-447',
      'A materialized view that was closed because it reads something masked stays closed while these columns are masked, …',
      async () => {
        await turn()
        await isDenied('app.copy')
        assert.deepEqual(await notesOf(), [])
        await target.runAs(
          'maker',
          `create or replace view lair.view as select 1::int as id, ''::text as mail`,
        )
        for (const wanted of [policy([mail, other]), policy([mail])]) {
          await turn(wanted)
          for (const name of ['app.copy', 'app.over']) await isDenied(name)
        }
        // Neither another name nor another rule of the column opens it.
        await run('alter table app.people rename mail to email')
        for (const rules of [[mail], [mail, rule('app.people.email')], [rule('app.people.email')]]) {
          await turn(policy([...rules, other]))
          await isDenied('app.copy')
        }
        await run('alter table app.people rename email to mail')
        await turn()
        // Rows that were read from it are the same.
        await run('create materialized view app.second as select mail from app.copy')
        await run(`grant select on app.second to "${reader}"`)
        await turn()
        await isDenied('app.second')
        // Reads of it by exempt roles are in the audit.
        const sources = await readSources(target.database.sql, 'masquerade_guard')
        assert.ok(sources.some(({ column }) => column === 'app.copy.mail'))
        // Another file holds the same rows.
        await run('vacuum full app.copy')
        const [note, ...more] = await notesOf()
        await isDenied('app.copy')
        assert.equal(more.length, 0)
        assert.equal(note?.target, 'app.copy')
        assert.match(note?.message ?? '', /REFRESH MATERIALIZED VIEW "app"\."copy" WITH NO DATA/)
        // The twin is made from what the materialized view would read now.
        assert.deepEqual(await read('masked_app.copy'), [{ mail: '' }])

        await run('refresh materialized view app.copy with no data')
        await turn()
        await run('refresh materialized view app.copy')
        assert.deepEqual(
          (await notesOf()).map((one) => one.target),
          ['app.second'],
        )
        assert.deepEqual(await read('app.copy'), [{ mail: '' }])
        assert.deepEqual(await read('app.over'), [{ mail: '' }])
        await isDenied('app.second')
        await run('drop materialized view app.second')

        // With the rule it ends at once, although there are others.
        await turn(policy([other]))
        await target.runAs('maker', 'create or replace view lair.view as select id, mail from app.people')
        await run('refresh materialized view app.copy')
        await turn()
        await isDenied('app.copy')
        await target.runAs(
          'maker',
          `create or replace view lair.view as select 1::int as id, ''::text as mail`,
        )
        await turn()
        await isDenied('app.copy')
        await turn(policy([other]))
        assert.deepEqual(await read('app.copy'), [{ mail: canary }])

        // A look at another table that it reads by now sees its pin, and not the table of that.
        await target.runAs('maker', 'create or replace view lair.view as select id, mail from app.people')
        await turn()
        await target.runAs('maker', 'create or replace view lair.view as select id, mail from app.others')
        for (const options of [{}, { focus: () => [{ schema: 'app', table: 'others' }] }]) {
          const { notes } = await reconcile(target.database, policy([mail, other]), options)
          assert.deepEqual(notes, [])
          await isDenied('app.copy')
        }
        await turn(policy([mail]))
        await isDenied('app.copy')
        await turn(policy([]))
      },
    )

    clause(
      'ENF-482',
      'Where such a column (ENF-447) is dropped, or its table, the materialized view stays closed while the rule is stored…',
      async () => {
        const cut = `create or replace view lair.view as select 1::int as id, ''::text as mail`
        const replace = [
          `alter table app.people add column other text; update app.people set other = mail; drop view lair.wide cascade;
          alter table app.people drop column mail cascade`,
          'alter table app.people rename other to mail',
          `drop table app.people cascade; create table app.people (id int, mail text)`,
        ]
        for (const focus of [undefined, [{ schema: 'app', table: 'people' }]]) {
          const look = (...rules: (typeof mail)[]) =>
            reconcile(target.database, policy(rules), focus ? { focus: () => focus } : {})
          await turn()
          await target.runAs('maker', cut)
          await turn()
          for (const change of replace) {
            await run(change)
            for (const rules of [[mail, other], [mail]]) {
              await look(...rules)
              for (const name of ['app.copy', 'app.over']) await isDenied(name)
            }
          }
          assert.deepEqual(
            (await notesOf()).map((one) => one.target),
            ['app.copy'],
          )
          await look(other)
          await turn(policy([other]))
          assert.deepEqual(await read('app.copy'), [{ mail: canary }])
          await turn(policy([]))
          await restore()
        }
      },
    )

    clause(
      'ENF-495',
      'A rule that is stored under another name, for the same schema, table and column, opens nothing: …',
      async () => {
        const named = (name: string) => ({ ...mail, name })
        await turn()
        await target.runAs(
          'maker',
          `create or replace view lair.view as select 1::int as id, ''::text as mail`,
        )
        await run('drop view lair.wide cascade; alter table app.people rename mail to kept')
        await run(`alter table app.people add mail text; grant select on app.people to "${reader}"`)
        for (const name of [mail.name, 'second', 'third']) {
          const { notes } = await turn(policy([named(name), other]))
          assert.deepEqual(
            notes.map(({ code }) => code),
            ['ColumnRenamed', 'CopyClosed'],
            name,
          )
          await assert.rejects(target.runAs('reader', 'select kept from app.people'), /permission denied/)
          assert.equal(
            (await target.runAs('reader', 'select kept from masked_app.people'))[0]?.kept,
            'XXXX',
            name,
          )
          await isDenied('app.copy')
        }
        // A rule for the new name has its own function, in whatever order the two come.
        const kept = rule('app.people.kept', 'Text', {
          prefixSize: '2',
          suffixSize: '0',
          replacementString: '-',
        })
        for (const rules of [
          [kept, named('fourth')],
          [named('fifth'), kept],
        ]) {
          const { notes } = await turn(policy([...rules, other]))
          assert.deepEqual(
            notes.map(({ code }) => code),
            ['CopyClosed'],
          )
          assert.equal(
            (await target.runAs('reader', 'select kept from masked_app.people'))[0]?.kept,
            `${canary.slice(0, 2)}-`,
          )
        }
        await run('alter table app.people drop kept cascade')
        for (const name of ['sixth', 'seventh']) {
          await turn(policy([{ ...kept, name }, named(name), other]))
          for (const one of ['app.copy', 'app.over']) await isDenied(one)
        }
        await turn(policy([named('eighth'), other]))
        assert.deepEqual(await read('app.copy'), [{ mail: canary }])
        await turn(policy([]))
      },
    )

    clause(
      'ENF-483',
      'Every column of a filled materialized view that is closed because it reads something masked, or did so, counts as raw…',
      async () => {
        const list = async () => {
          const sources = await readSources(target.database.sql, 'masquerade_guard')
          return sources.map(({ column }) => column).filter((column) => column.startsWith('app.copy.'))
        }
        await turn()
        await target.runAs(
          'maker',
          'create or replace view lair.view as select id, id::text as mail from app.people',
        )
        await turn()
        await isDenied('app.copy')
        assert.deepEqual(await list(), ['app.copy.id', 'app.copy.mail'])
        const [keeper] = (await readMaskedFor(target.database.sql, [target.role('keeper')])).values()
        assert.match(JSON.stringify(keeper?.watched), /"app\.copy\.mail"/)
        await run('refresh materialized view app.copy with no data')
        assert.deepEqual(await list(), [])
        await turn(policy([]))
      },
    )

    clause(
      'ENF-448',
      'A view that is too wide to be read (ENF-236) opens no materialized view above it: …',
      async () => {
        await turn()
        await isDenied('app.wide')
        for (let at = 0; at < 15; at++)
          await target.runAs(
            'maker',
            `create view lair.flood${at} as select ${manyColumns('id', 1_500)} from app.people`,
          )
        const isClosedBy = async () => {
          const error = await turn().catch((thrown: unknown) => thrown)
          assert.ok(error instanceof PartlyEnforced, String(error))
          await isDenied('app.wide')
        }
        await isClosedBy()
        await turn(policy([])).catch(() => {})
        await isClosedBy()
        for (let at = 0; at < 15; at++) await run(`drop view lair.flood${at} cascade`)
        await turn()
        await isDenied('app.wide')
        assert.deepEqual(await notesOf(), [])
        await turn(policy([]))
        assert.deepEqual(await read('app.wide'), [{ mail: canary }])
      },
    )
  })
})

function manyColumns(column: string, count: number): string {
  return Array.from({ length: count }, (_, at) => `${column} as c${at}`).join()
}
