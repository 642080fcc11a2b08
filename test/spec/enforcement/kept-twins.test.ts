import assert from 'node:assert/strict'
import type { ReconcileOptions } from '../../../src/enforcement/in-turn.ts'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { PartlyEnforced } from '../../../src/enforcement/reconcile-by-relation.ts'
import { clause } from '../../support/clause.ts'
import { type ClusterName, majorOf } from '../../support/cluster.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster, hasAllVariants } from '../../support/postgres.ts'

const canary = 'zqcanary'

/** `app.person`, `app.staff` and the view `app.contact` over both are of the role owner. The role mallory is masked. */
async function prepare(cluster: ClusterName, isSuperuser = true) {
  const target = await createMaskedDatabase(cluster)
  const owner = await target.createRole('owner', 'NOLOGIN')
  const mallory = await target.createRole('mallory')
  const binder = await target.createRole('binder', 'LOGIN NOINHERIT CREATEROLE')
  const database = target.url.replace(/^.*\//, '')
  const run = (text: string) => target.database.sql.unsafe(text)
  await run(`create schema app authorization "${binder}"; grant usage on schema app to public; grant create on schema app to "${owner}";
    create schema lair authorization "${mallory}"; grant usage on schema lair to public;
    create table app.person (id int, mail text, phone text); insert into app.person values (1, '${canary}', '${canary}');
    create table app.staff (id int, work text); insert into app.staff values (1, '${canary}');
    create view app.contact as select p.mail, s.work from app.person p join app.staff s using (id);
    alter table app.person owner to "${owner}"; alter table app.staff owner to "${owner}";
    alter view app.contact owner to "${owner}"; grant select on app.person, app.staff, app.contact to "${mallory}";
    grant create on database "${database}" to "${binder}"; grant "${owner}" to "${binder}"`)
  const binding = isSuperuser ? target.database : target.connectAs('binder')
  const read = (text: string): Promise<string> =>
    target
      .connectAs('mallory')
      .sql.unsafe(text)
      .then(
        (rows) => JSON.stringify(rows),
        (error: Error) => error.message,
      )
  return {
    target,
    owner,
    mallory,
    run,
    runAs: (name: string, text: string) => target.runAs(name, text),
    read,
    async showsNothing(...texts: string[]): Promise<void> {
      for (const text of texts) assert.doesNotMatch(await read(text), new RegExp(canary), text)
    },
    /** Where an object is in the way, the rest is done. */
    async mask(...columns: string[]) {
      const rules = policy(columns.map((column) => rule(column)))
      return await reconcile(binding, rules).catch((error: unknown) => {
        if (error instanceof PartlyEnforced) return error.outcome
        throw error
      })
    },
  }
}

const moves = [
  { name: 'app.people', staff: 'app.staff', move: 'alter table app.person rename to people' },
  { name: 'firm.person', staff: 'firm.staff', move: 'alter schema app rename to firm' },
]

forEachCluster((cluster) => {
  const either = hasAllVariants(cluster) ? [false, true] : [false]
  /** Of a twin that stayed. */
  const kept = majorOf(cluster) < 15 ? /permission denied/ : /zqcanary/

  clause(
    'ENF-304',
    'A former twin that the binding cannot close, as it may not act for the owner, is dropped with what reads it only…',
    async () => {
      for (const isMember of [true, false]) {
        const one = await prepare(cluster, false)
        await using _ = one.target
        const third = await one.target.createRole('third', 'NOLOGIN')
        const binder = one.target.role('binder')
        await one.run(`grant "${third}" to "${binder}"; grant create on schema app to "${third}";
          grant select on app.person, app.staff to "${third}"; alter view app.contact owner to "${third}"`)
        const mask = (options: ReconcileOptions, ...columns: string[]) =>
          reconcile(
            one.target.connectAs('binder'),
            policy(
              columns.map((column) => rule(column)),
              [third],
            ),
            options,
          )
        await mask({}, 'app.person.mail')
        await one.runAs('mallory', 'create view lair.copy as select * from masked_app.contact')
        await one.run(`drop view app.contact; revoke "${third}" from "${binder}"`)
        let isFirst = true
        const beforeStep = async () => {
          if (isFirst && isMember) await one.run(`grant "${third}" to "${binder}"`)
          isFirst = false
        }
        await mask({ beforeStep }, 'app.person.mail', 'app.staff.work')
        await one.showsNothing(
          'select work from lair.copy',
          'select work from masked_app.contact',
          'select work from app.staff',
        )
        const left = await one.run(`select from pg_class where oid = to_regclass('lair.copy')`)
        assert.equal(left.length, isMember ? 1 : 0)
        assert.deepEqual((await mask({}, 'app.person.mail', 'app.staff.work')).steps, [])
      }
    },
  )

  clause(
    'ENF-280',
    'A twin that no record names, such as one that stayed for objects of other roles (ENF-71), is closed to every role by the turn that masks a relation which it reads, whatever the names of the relation and of its schema…',
    async () => {
      for (const isSuperuser of either)
        for (const hasOthers of either)
          for (const { name, staff, move } of moves) {
            const one = await prepare(cluster, isSuperuser)
            await using _ = one.target
            await one.run('drop view app.contact')
            await one.mask('app.person.mail', ...(hasOthers ? ['app.staff.work'] : []))
            await one.runAs('mallory', 'create view lair.copy as select * from masked_app.person')
            await one.mask(...(hasOthers ? ['app.staff.work'] : []))
            assert.match(await one.read('select phone from lair.copy'), kept)
            await one.run(move)
            const columns = [`${name}.mail`, `${name}.phone`, ...(hasOthers ? [`${staff}.work`] : [])]
            const { notes } = await one.mask(...columns)
            await one.showsNothing(
              `select phone from ${name}`,
              'select phone from lair.copy',
              'select phone from masked_app.person',
            )
            assert.match(await one.read(`select phone from masked_${name}`), /XXXX/)
            assert.ok(notes.some(({ code, target }) => code === 'TwinKept' && target === 'masked_app.person'))
            assert.deepEqual((await one.mask(...columns)).steps, [])
          }
    },
  )

  clause(
    'ENF-280',
    'A twin that no record names, such as one that stayed for objects of other roles (ENF-71), is closed to every role by the turn…',
    async () => {
      const one = await prepare(cluster)
      await using _ = one.target
      await one.run('drop view app.contact')
      await one.mask('app.person.mail')
      await one.runAs('mallory', 'create view lair.copy as select * from masked_app.person')
      await one.mask()
      await one.run('alter table app.person rename to people')
      await one.target.connectAs('mallory').transaction(async (held) => {
        await held.unsafe('select from lair.copy')
        await one.target.connectAs('binder').transaction(async (tx) => {
          await tx.unsafe(`set role "${one.owner}"; lock table app.staff in access exclusive mode`)
          await one.mask('app.people.mail', 'app.people.phone', 'app.staff.work')
          await one.showsNothing('select phone from lair.copy', 'select phone from masked_app.person')
        })
      })
      await one.mask('app.people.mail', 'app.people.phone', 'app.staff.work')
      await one.showsNothing('select phone from lair.copy', 'select phone from masked_app.person')
    },
  )

  clause(
    'ENF-280',
    'A twin that no record names, such as one that stayed for objects of other roles (ENF-71), is closed to every role by the turn that masks a relation which it reads, whatever the names of the relation and of its schema are by then. A view of another role over it has no twin then. …',
    async () => {
      for (const isSuperuser of either)
        for (const isAtOnce of either) {
          const one = await prepare(cluster, isSuperuser)
          await using _ = one.target
          await one.mask('app.person.mail')
          await one.runAs('mallory', 'create view lair.copy as select * from masked_app.contact')
          await one.run(`set role "${one.owner}"; create view app.list as select * from masked_app.contact;
            grant select on app.list to "${one.mallory}"; reset role; drop view app.contact`)
          if (!isAtOnce) await one.mask('app.person.mail')
          assert.match(await one.read('select work from lair.copy'), isAtOnce ? /zqcanary/ : kept)
          const { notes } = await one.mask('app.person.mail', 'app.staff.work')
          await one.showsNothing(
            'select work from app.staff',
            'select work from masked_app.contact',
            'select work from lair.copy',
            'select work from app.list',
            'select work from masked_app.list',
          )
          assert.ok(notes.some(({ code, target }) => code === 'TwinKept' && /contact/.test(target)))
          const again = await one.mask('app.person.mail', 'app.staff.work')
          assert.deepEqual(again.steps, [])
          await one.mask('app.person.mail')
          assert.match(await one.read('select work from app.staff'), /zqcanary/)
        }
    },
  )

  clause(
    'ENF-280',
    'A twin that no record names, such as one that stayed for objects of other roles (ENF-71), is closed to every role by the turn that masks a relation which it reads, whatever the names of the relation and of its schema are by then. A view of another role over it has no twin then. …',
    async (t) => {
      t.diagnostic('where the relation of its name gets no twin')
      const one = await prepare(cluster)
      await using _ = one.target
      await one.mask('app.person.mail')
      await one.run(`set role "${one.owner}"; create view app.report as select work from masked_app.contact;
        grant select on app.report to "${one.mallory}"; reset role`)
      await one.mask()
      assert.match(await one.read('select work from app.report'), kept)
      await one.run(`alter table app.staff enable row level security; create policy rest on app.staff as restrictive to "${one.mallory}" using (true);
        create policy every on app.staff using (true)`)
      await one.mask('app.staff.work')
      await one.showsNothing(
        'select work from app.report',
        'select work from masked_app.contact',
        'select work from masked_app.report',
      )
    },
  )

  clause('ENF-280', 'A twin that no record names, such as one that stayed for objects…', async () => {
    for (const { name, move } of moves) {
      const one = await prepare(cluster)
      await using _ = one.target
      await one.run('drop view app.contact')
      await one.mask('app.person.mail')
      await one.run(`drop schema masquerade_guard cascade; ${move}`)
      await one.mask(`${name}.mail`, `${name}.phone`)
      await one.showsNothing('select phone from masked_app.person')
    }
  })

  clause(
    'ENF-281',
    'A twin that is made where such a twin stands has no grant and no owner of the former one.',
    async () => {
      for (const isSuperuser of either)
        for (const hasNewOwner of either) {
          const one = await prepare(cluster, isSuperuser)
          await using _ = one.target
          const guest = await one.target.createRole('guest')
          const heir = await one.target.createRole('heir', 'NOLOGIN')
          await one.run(
            `drop view app.contact; grant select on app.person to "${guest}"; grant "${heir}" to "${one.target.role('binder')}"`,
          )
          await one.mask('app.person.mail')
          await one.runAs('mallory', 'create view lair.copy as select * from masked_app.person')
          await one.mask()
          await one.run(`alter table app.person rename to people;
            create table app.person (id int, mail text, phone text); insert into app.person values (1, '${canary}', '${canary}');
            alter table app.person owner to "${hasNewOwner ? heir : one.owner}"; grant select on app.person to "${one.mallory}"`)
          await one.mask('app.person.mail')
          assert.match(await one.read('select mail from masked_app.person'), /XXXX/)
          assert.match(await one.read('select mail from lair.copy'), /XXXX/)
          await assert.rejects(one.runAs('guest', 'select id from masked_app.person'), /permission denied/)
          assert.deepEqual((await one.mask('app.person.mail')).steps, [])
        }
    },
  )

  clause(
    'ENF-282',
    'The former twin of a table that was renamed while it was masked, itself or its schema, is closed to every role…',
    async () => {
      for (const { name, move } of moves) {
        const one = await prepare(cluster)
        await using _ = one.target
        await one.run('drop view app.contact')
        await one.mask('app.person.mail')
        await one.runAs('mallory', 'create view lair.copy as select * from masked_app.person')
        await one.run(move)
        for (const columns of [['app.person.mail'], [`${name}.mail`], [`${name}.mail`, `${name}.phone`]]) {
          await one.mask(...columns)
          await one.showsNothing(`select mail from ${name}`, 'select mail from lair.copy')
        }
        await one.showsNothing(
          `select phone from ${name}`,
          'select phone from lair.copy',
          'select phone from masked_app.person',
        )
        assert.match(await one.read(`select phone from masked_${name}`), /XXXX/)
      }
    },
  )

  clause(
    'ENF-283',
    'A view that is dropped and created again under its name, with the same columns or others, has its twin after the next turn.',
    async () => {
      const one = await prepare(cluster)
      await using _ = one.target
      await one.mask('app.person.mail')
      for (const columns of ['p.mail, s.work', 's.work, p.mail']) {
        await one.run(`drop view app.contact;
          create view app.contact as select ${columns} from app.person p join app.staff s using (id);
          alter view app.contact owner to "${one.owner}"; grant select on app.contact to "${one.mallory}"`)
        const { notes } = await one.mask('app.person.mail')
        assert.deepEqual(notes, [])
        assert.match(await one.read('select mail from masked_app.contact'), /XXXX/)
        assert.deepEqual((await one.mask('app.person.mail')).steps, [])
      }
    },
  )

  clause(
    'ENF-283',
    'A view that is dropped and created again under its name, with the same columns or others, has its twin after the next turn.',
    async (t) => {
      t.diagnostic('a turn that looks at one table alone')
      const one = await prepare(cluster)
      await using _ = one.target
      await one.mask('app.person.mail')
      await one.run(`drop view app.contact;
        create view app.contact as select s.work, p.mail from app.person p join app.staff s using (id);
        alter view app.contact owner to "${one.owner}"; grant select on app.contact to "${one.mallory}"`)
      const rules = policy([rule('app.person.mail'), rule('app.person.phone')])
      const focus = () => [{ schema: 'app', table: 'person' }]
      await reconcile(one.target.database, rules, { focus }).catch((error: unknown) => {
        if (!(error instanceof PartlyEnforced)) throw error
      })
      assert.match(await one.read('select mail from masked_app.contact'), /XXXX/)
    },
  )
})
