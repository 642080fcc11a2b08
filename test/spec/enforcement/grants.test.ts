import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { takeTurn } from '../../../src/masks/turn.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { listPrivileges } from '../../support/privileges.ts'

forEachCluster((cluster) => {
  describe('grants', () => {
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    const names = ['owner', 'ann', 'bea', 'cid', 'dan', 'eve', 'auditor', 'lead'] as const
    const roles = {} as Record<(typeof names)[number], string>
    const run = (text: string) =>
      target.database.sql.unsafe(
        text.replace(/:(\w+)/g, (whole, name: string) =>
          name in roles ? `"${roles[name as 'ann']}"` : whole,
        ),
      )
    const as = async (name: (typeof names)[number], text: string) =>
      target
        .connectAs(name)
        .sql.unsafe(
          text.replace(/:(\w+)/g, (whole, role: string) =>
            role in roles ? `"${roles[role as 'ann']}"` : whole,
          ),
        )
    const reads = async (name: (typeof names)[number], text: string) =>
      as(name, text).then(
        (rows) => rows.map((row) => Object.values(row)[0]),
        (error: Error) =>
          /permission denied|does not exist/.test(error.message) ? 'denied' : Promise.reject(error),
      )
    const rules = [rule('public.t.mail'), rule('public.all_hidden.a'), rule('public.part.mail')]
    const mask = async (exempt: readonly string[] = [roles.auditor]) => {
      const outcome = await takeTurn(target.database, policy(rules, exempt))
      assert.deepEqual((await takeTurn(target.database, policy(rules, exempt))).steps, [])
      return outcome
    }
    const release = async () => {
      await takeTurn(target.database, policy([]))
      assert.deepEqual((await takeTurn(target.database, policy([]))).steps, [])
    }
    const privileges = () => listPrivileges(target.database, Object.values(roles))

    before(async () => {
      target = await createMaskedDatabase(cluster)
      for (const name of names) roles[name] = await target.createRole(name)
    })
    beforeEach(async () => {
      await takeTurn(target.database, policy([]))
      await run(`drop schema public cascade; create schema public; grant usage on schema public to public;
        create table public.t (id int, name text, mail text, gone int); alter table public.t drop column gone;
        insert into public.t values (1, 'n', 'raw');
        create table public.all_hidden (a text); insert into public.all_hidden values ('raw');
        create table public.part (id int, mail text) partition by list (id);
        create table public.part_1 partition of public.part for values in (1); insert into public.part values (1, 'raw');
        create view public.v as select id, mail from public.t; create materialized view public.m as select mail from public.t;
        create table public.bystander (id int);
        alter table public.t owner to :owner; alter view public.v owner to :owner; alter table public.all_hidden owner to :owner`)
    })
    after(() => target[Symbol.asyncDispose]())

    clause('ENF-41', 'Privileges are the same before masking and after it: grants to…', async () => {
      await run(`
        grant select on public.t, public.all_hidden to public;
        grant select, insert on public.t to :ann with grant option;
        grant select (id, mail) on public.t to :bea with grant option;
        grant select (mail), update (mail), references (id) on public.t to :cid;
        grant all on public.v, public.m to :ann; grant select on public.part to :eve; grant select (mail) on public.part_1 to :eve;
        grant select on public.v to :cid with grant option;
        revoke select on public.all_hidden from :owner;
        alter default privileges in schema public grant select on tables to :dan;
        alter default privileges for role :owner grant insert on tables to :eve;
        grant :lead to :bea; grant select on public.m to :lead`)
      await as('ann', 'grant select on public.t to :cid; grant select on public.t to :dan with grant option')
      await as('dan', 'grant select on public.t to :eve')
      await as('bea', 'grant select (mail) on public.t to :eve; grant select (id) on public.t to :dan')
      await as('cid', 'grant select on public.v to :dan')
      const before = await privileges()
      await mask()
      assert.notDeepEqual(await privileges(), before)
      assert.equal(await reads('eve', 'select mail from public.t'), 'denied')
      assert.deepEqual(await reads('eve', 'select mail from masked_public.t'), ['XXXX'])
      await mask([roles.auditor, roles.cid])
      await mask([])
      await release()
      assert.deepEqual(await privileges(), before)
    })

    clause('ENF-42', 'A GRANT made by hand on a masked relation becomes one of the…', async () => {
      await run('grant select on public.t to :ann')
      await mask()
      await run(`grant select on public.t to :bea; grant select on public.t to :cid with grant option; grant select (name, mail) on public.t to :dan;
        grant select (mail) on public.t to :ann; grant select on public.v to :ann; grant insert on public.t to :eve`)
      await mask()
      for (const name of ['ann', 'bea', 'cid', 'dan'] as const) {
        assert.equal(await reads(name, 'select mail from public.t'), 'denied', name)
        assert.deepEqual(await reads(name, 'select mail from masked_public.t'), ['XXXX'], name)
      }
      assert.equal(await reads('dan', 'select id from masked_public.t'), 'denied')
      assert.deepEqual(await reads('ann', 'select mail from masked_public.v'), ['XXXX'])
      await release()
      const after = await privileges()
      for (const name of ['ann', 'bea', 'cid', 'dan'] as const)
        assert.deepEqual(await reads(name, 'select mail from public.t'), ['raw'], name)
      assert.ok(after.includes(`table t: INSERT to ${roles.eve}`))
      assert.ok(after.includes(`table t: SELECT to ${roles.cid} with grant option`))
      assert.equal(await reads('dan', 'select id from public.t'), 'denied')
    })

    clause('ENF-43', 'A REVOKE made by hand on a masked relation, or on its twin, ends…', async () => {
      await run(`grant select on public.t to :ann, :bea, :auditor; grant select (id, mail) on public.t to :cid; grant select on public.t to :dan with grant option;
        grant select on public.v to :ann, :bea; grant select on public.all_hidden to :ann, :bea`)
      await mask()
      await run(
        `revoke select on public.t from :ann, :cid, :auditor; revoke grant option for select on public.t from :dan cascade`,
      )
      await run('revoke select on masked_public.v, masked_public.all_hidden from :ann')
      await mask()
      for (const name of ['ann', 'cid', 'auditor'] as const)
        assert.equal(await reads(name, 'select mail from masked_public.t'), 'denied', name)
      for (const object of ['v', 'all_hidden']) {
        assert.equal(await reads('ann', `select * from masked_public.${object}`), 'denied', object)
        assert.notEqual(await reads('bea', `select * from masked_public.${object}`), 'denied', object)
      }
      await release()
      for (const name of ['ann', 'cid', 'auditor'] as const)
        assert.equal(await reads(name, 'select mail from public.t'), 'denied', name)
      assert.equal(await reads('ann', 'select mail from public.v'), 'denied')
      assert.deepEqual(await reads('bea', 'select mail from public.t'), ['raw'])
      assert.ok((await privileges()).includes(`table t: SELECT to ${roles.dan}`))
    })

    clause('ENF-44', 'Grants made by hand on a twin are taken back.', async () => {
      await run('grant select on public.t to :ann')
      await mask()
      await run('grant select on masked_public.t to :eve')
      await mask()
      assert.equal(await reads('eve', 'select mail from masked_public.t'), 'denied')
      assert.deepEqual(await reads('ann', 'select mail from masked_public.t'), ['XXXX'])
    })

    clause('ENF-45', 'Grants follow a role that is renamed, and die with a role that…', async () => {
      const other = await target.createRole('newcomer')
      await run(`grant select on public.t to :ann; grant select on public.t to "${other}"`)
      await mask()
      const renamed = `${other}_x`
      await run(`alter role "${other}" rename to "${renamed}"`)
      await mask()
      await release()
      assert.ok((await privileges()).includes(`table t: SELECT to ${renamed}`))
      await mask()
      await run(`drop owned by "${renamed}"; drop role "${renamed}"; create role "${renamed}"`)
      await mask()
      await release()
      assert.equal(
        (await privileges()).some((line) => line.includes(renamed)),
        false,
      )
      await run(`drop role "${renamed}"`)
    })

    clause(
      'ENF-46',
      'Exempt roles and their members keep raw access, also where it came through PUBLIC or a…',
      async () => {
        await run(`grant select on public.t, public.v to public; grant select (a) on public.all_hidden to :lead; grant :lead to :auditor, :bea;
        grant select on public.part to :lead; grant :auditor to :dan; create role "${roles.eve}_n" noinherit login password 'secret' in role "${roles.auditor}"`)
        const before = await privileges()
        await mask()
        for (const name of ['auditor', 'dan'] as const)
          for (const text of [
            'select mail from public.t',
            'select mail from public.v',
            'select a from public.all_hidden',
            'select mail from public.part',
          ])
            assert.deepEqual(await reads(name, text), ['raw'], `${name}: ${text}`)
        for (const name of ['bea', 'ann'] as const)
          assert.equal(await reads(name, 'select mail from public.t'), 'denied', name)
        assert.deepEqual(await reads('bea', 'select a from masked_public.all_hidden'), ['XXXX'])
        await run('revoke :auditor from :dan')
        const [{ version } = { version: 0 }] = await run(
          `select current_setting('server_version_num')::int as version`,
        )
        // Since 16 a role can be somebody's to hand on without being theirs to use.
        if (version >= 160000) await run('grant :auditor to :dan with admin true, inherit false, set false')
        await mask()
        assert.equal(await reads('dan', 'select mail from public.t'), 'denied')
        await mask(['public'])
        assert.deepEqual(await reads('ann', 'select mail from public.t'), ['raw'])
        const late = await target.createRole('late')
        await mask(['public'])
        await mask()
        // Their sessions end.
        const [{ open } = { open: [] }] = await run('select open from masquerade_guard.policy')
        const ending = open.map(({ name }: { name: string }) => name)
        assert.deepEqual(
          [late, roles.ann, roles.auditor].map((name) => ending.includes(name)),
          [true, true, false],
        )
        assert.equal(await reads('ann', 'select mail from public.t'), 'denied')
        await run('revoke :auditor from :dan; grant :auditor to :dan')
        await release()
        assert.deepEqual(await privileges(), before)
        await run(`drop role "${roles.eve}_n"; revoke :auditor from :dan; revoke :lead from :auditor, :bea`)
      },
    )

    test('of a role named "PUBLIC" are its own', async () => {
      await run(`grant select on public.t to :ann; create role "PUBLIC"`)
      try {
        await mask(['PUBLIC'])
        assert.equal(await reads('ann', 'select mail from public.t'), 'denied')
      } finally {
        await run('drop role "PUBLIC"')
      }
    })
  })
})
