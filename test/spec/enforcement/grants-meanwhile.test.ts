import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe } from 'node:test'
import pg from 'pg'
import type { Database } from '../../../src/db/database.ts'
import type { ReconcileOptions } from '../../../src/enforcement/in-turn.ts'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { PartlyEnforced } from '../../../src/enforcement/reconcile-by-relation.ts'
import { clause } from '../../support/clause.ts'
import { hookLease } from '../../support/hooked-lease.ts'
import { keepInMemory } from '../../support/kept-in-memory.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { listPrivileges } from '../../support/privileges.ts'

/** Of t, `mail` is masked; of whole, every column; v reads t. `seer` is exempt; `ann`, `bea` and `cid` are masked. */
forEachCluster((cluster) => {
  describe('grants that change while a turn is under way', () => {
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    const names = ['owner', 'seer', 'ann', 'bea', 'cid'] as const
    type Name = (typeof names)[number]
    const roles = {} as Record<Name, string>
    const name = (text: string) =>
      text.replace(/:(\w+)/g, (whole, role: string) => (role in roles ? `"${roles[role as 'ann']}"` : whole))
    const run = (text: string) => target.database.sql.unsafe(name(text))
    const as = (role: Name, text: string) => target.runAs(role, name(text))
    const wanted = (...exempt: Name[]) =>
      policy(
        ['public.t.mail', 'public.whole.mail', 'public.u.mail'].map((one) => rule(one)),
        exempt.map((one) => roles[one]),
      )
    const settle = async (exempt: readonly Name[] = ['seer']) => {
      await reconcile(target.database, wanted(...exempt))
      assert.deepEqual((await reconcile(target.database, wanted(...exempt))).steps, [])
    }
    const release = (options?: ReconcileOptions) => reconcile(target.database, policy([]), options)
    /** Runs `act` when the turn has read all grants and changes the first, at each attempt that is listed, from 1. */
    const meanwhile = (act: () => PromiseLike<unknown>, at: readonly number[] = [1]) => {
      let taken = 0
      const lease = hookLease(async () => {
        if (at.includes(++taken)) await act()
      })
      return { lease, count: () => taken }
    }
    const listOf = async (who: Name) => {
      const lines = await listPrivileges(target.database, Object.values(roles))
      return lines
        .filter((line) => line.includes(` to ${roles[who]} `) && !/ masked_| masquerade_/.test(line))
        .map((line) => line.replace(/^\w+ (?:public\.)?/, '').replace(/ to .*?( with grant option)?$/, '$1'))
        .sort()
    }
    const isDenied = (role: Name, text: string) =>
      assert.rejects(as(role, text), /permission denied/, `${role}: ${text}`)

    before(async () => {
      target = await createMaskedDatabase(cluster)
      for (const one of names) roles[one] = await target.createRole(one)
    })
    beforeEach(async () => {
      await release()
      await run(`drop schema public cascade; create schema public; grant usage on schema public to public;
        create table public.t (id int, name text, mail text); insert into public.t values (1, 'n', 'raw');
        create view public.v as select id, mail from public.t; create table public.u (id int, mail text);
        create table public.whole (mail text); insert into public.whole values ('raw');
        alter table public.t owner to :owner; alter view public.v owner to :owner; alter table public.u owner to :owner;
        alter table public.whole owner to :owner`)
    })
    const clients: pg.Client[] = []
    afterEach(async () => {
      for (const client of clients.splice(0)) await client.end()
    })
    after(() => target[Symbol.asyncDispose]())

    const undone =
      'A grant that is revoked or made by hand after a turn has read the grants of a relation, and before it changes them, counts'

    const revoked = [
      ['grant select on public.t to :seer', 'revoke select on public.t from :seer', 'seer', []],
      ['grant select on public.whole to :ann', 'revoke all on public.whole from :ann', 'ann', []],
      [
        'grant select on public.t to :ann with grant option',
        'revoke grant option for select on public.t from :ann',
        'ann',
        ['t: SELECT'],
      ],
    ] as const
    for (const [had, done, who, left] of revoked)
      clause('ENF-458', `${undone}…`, async () => {
        // Masks begin.
        await run(`set role :owner; ${had}; reset role`)
        await reconcile(
          target.database,
          wanted('seer'),
          meanwhile(() => as('owner', done)),
        )
        await settle()
        await isDenied('ann', 'select mail from public.t')
        await release()
        assert.deepEqual(await listOf(who), left, `${had}; ${done}`)
      })

    for (const [had, done, who, left] of [
      revoked[0],
      [
        'grant select (id, mail) on public.t to :seer',
        'revoke select (mail) on public.t from :seer',
        'seer',
        ['t.id: SELECT'],
      ],
      [
        'grant select, trigger on public.t to :seer',
        'revoke trigger on public.t from :seer',
        'seer',
        ['t: SELECT'],
      ],
      ['grant select on public.v to :seer', 'revoke select on public.v from :seer', 'seer', []],
      ['grant select on public.t to :ann', 'revoke all on public.t from :ann', 'ann', []],
      // What a masked role had at masked columns alone stands at the twin.
      ['grant select on public.whole to :ann', 'revoke all on masked_public.whole from :ann', 'ann', []],
      [
        'grant select (id) on public.t to :ann',
        'grant select (name, mail) on public.t to :ann',
        'ann',
        ['t.id: SELECT', 't.mail: SELECT', 't.name: SELECT'],
      ],
    ] as const)
      clause('ENF-458', `${undone}…`, async () => {
        // Masks are there, and another grant is to be changed.
        await run(`set role :owner; ${had}; reset role`)
        await settle()
        await as('owner', 'grant select on public.t, public.v, public.whole to :cid')
        const turn = meanwhile(() => (done.includes('masked_') ? run(done) : as('owner', done)))
        await reconcile(target.database, wanted('seer'), turn)
        await settle()
        await isDenied('cid', 'select mail from public.t')
        await release()
        assert.deepEqual(await listOf(who), left, `${had}; ${done}`)
        assert.deepEqual(await listOf('cid'), ['t: SELECT', 'v: SELECT', 'whole: SELECT'])
      })

    clause('ENF-458', `${undone}…`, async () => {
      await run('set role :owner; grant select on public.t, public.whole to :seer, :ann; reset role')
      await settle()
      // Masks end.
      const turn = meanwhile(() =>
        run(`revoke select on public.t from :seer, :ann; revoke select on masked_public.whole from :ann`),
      )
      await release(turn)
      assert.deepEqual(await listOf('seer'), ['whole: SELECT'])
      assert.deepEqual(await listOf('ann'), [])
    })

    const judged =
      'Whether TRIGGER, REFERENCES and MAINTAIN of a masked role end (ENF-316, ENF-486) is judged by the other privileges that…'
    for (const [had, done, left] of [
      ['insert, trigger', 'revoke all on public.t from :ann', []],
      ['select, insert, trigger, references', 'revoke all on public.t from :ann', []],
      ['update (id), trigger', 'revoke all on public.t from :ann', []],
      ['insert, trigger', 'revoke trigger on public.t from :ann', ['t: INSERT', 't: TRIGGER']],
    ] as const)
      clause('ENF-506', judged, async () => {
        await run(`set role :owner; grant ${had} on public.t to :ann; reset role`)
        await settle()
        // Masks end.
        await release(meanwhile(() => as('owner', done)))
        assert.deepEqual(await listOf('ann'), left, `${had}; ${done}`)
        // Another grant is to be changed.
        await run(`set role :owner; grant ${had} on public.t to :ann; reset role`)
        await settle()
        await as('owner', 'grant select on public.t to :cid')
        await reconcile(
          target.database,
          wanted('seer'),
          meanwhile(() => as('owner', done)),
        )
        await settle()
        await release()
        assert.deepEqual(await listOf('ann'), left, `${had}; ${done}, between`)
      })

    for (const [had, done, left] of [
      ['insert, trigger', 'revoke insert on public.t from :ann', ['t: TRIGGER']],
      ['select, insert, trigger', 'revoke select, insert on public.t from :ann', ['t: TRIGGER']],
      ['trigger', 'grant insert on public.t to :ann', ['t: INSERT', 't: TRIGGER']],
    ] as const)
      clause('ENF-506', judged, async () => {
        await run(`set role :owner; grant ${had} on public.t to :ann; reset role`)
        // Masks begin.
        await reconcile(
          target.database,
          wanted('seer'),
          meanwhile(() => as('owner', done)),
        )
        await settle()
        await release()
        assert.deepEqual(await listOf('ann'), left, `${had}; ${done}`)
      })

    const listUnfinished = async (options?: ReconcileOptions) => {
      const error = await reconcile(target.database, wanted('seer'), options).then(
        () => null,
        (reason: unknown) => reason,
      )
      assert.ok(error instanceof PartlyEnforced, String(error))
      return error.unfinished
    }

    const opens =
      'A grant of a masked column of a table that a session made before the mask, and commits after it, opens nothing: a turn…'
    /** A session of cid that granted the column, and neither committed nor ended. cid lost its grant option since. */
    const holdGrant = async () => {
      await run(
        'set role :owner; grant select on public.t, public.whole to :cid with grant option; reset role',
      )
      const client = new pg.Client({ connectionString: target.urlOf('cid') })
      clients.push(client)
      await client.connect()
      const [own] = (await client.query('select pg_backend_pid() as pid')).rows
      await client.query('begin; grant select (mail) on public.t, public.whole to public')
      await as('owner', 'revoke all on public.t, public.whole from :cid cascade')
      return { pid: Number(own.pid), commit: () => client.query('commit') }
    }
    const allDenied = async () => {
      for (const role of ['ann', 'bea', 'cid'] as const)
        for (const table of ['t', 'whole']) await isDenied(role, `select mail from public.${table}`)
    }

    for (const others of ['grant select on public.t, public.whole to :ann', 'select 1'])
      clause('ENF-507', opens, async () => {
        await run(`set role :owner; ${others}; reset role`)
        const open = await holdGrant()
        const held = (await listUnfinished()).filter(({ isClosed }) => !isClosed)
        assert.deepEqual(held.map((one) => one.target).sort(), ['"public"."t"', '"public"."whole"'])
        for (const { blockers } of held) assert.deepEqual(blockers, [{ pid: open.pid }])
        await open.commit()
        await reconcile(target.database, wanted('seer'))
        await allDenied()
        await settle()
        await release()
        assert.deepEqual((await listOf('ann')).length, others === 'select 1' ? 0 : 2)
      })

    const computed = 'generated always as (lower(mail)) stored'
    /** Changes by which a turn hides a column without grants, and changes no grant. */
    for (const [had, change, also] of [
      ['grant select on public.t to :seer, :ann', `alter table public.t add lowered text ${computed}`, []],
      ['grant select on public.t to :seer', 'select 1', ['public.t.name']],
      [
        'grant select on public.t to :seer; grant select (id) on public.t to :ann',
        'select 1',
        ['public.t.name'],
      ],
      ['grant select on public.t to :seer, :ann', 'alter table public.t add phone text', ['public.t.phone']],
    ] as const)
      clause('ENF-507', opens, async () => {
        await run(`set role :owner; ${had}; reset role`)
        const given = await Promise.all((['seer', 'ann'] as const).map(listOf))
        await settle()
        const before = await listOf('ann')
        await as('owner', change)
        const first = wanted('seer')
        const later = { ...first, rules: [...first.rules, ...also.map((one) => rule(one))] }
        await reconcile(target.database, later)
        assert.deepEqual((await reconcile(target.database, later)).steps, [])
        assert.equal((await as('seer', 'select mail from public.t'))[0]?.mail, 'raw')
        if (had.includes(', :ann'))
          assert.equal((await as('ann', 'select mail from masked_public.t'))[0]?.mail, 'XXXX')
        assert.deepEqual(await listOf('ann'), before)
        await isDenied('ann', 'select * from public.t')
        await release()
        assert.deepEqual(await Promise.all((['seer', 'ann'] as const).map(listOf)), given)
      })

    /** Runs `act` while another session holds the lock of u, so that a turn goes relation by relation. */
    const whileHeld = async (act: () => Promise<unknown>) => {
      const other: Database = target.connectAs('owner')
      await other.transaction(async (tx) => {
        await tx.unsafe('lock table public.u in access exclusive mode')
        await tx.unsafe(name('grant select (id) on public.u to :cid'))
        await act()
        await tx.unsafe(name('revoke select (id) on public.u from :cid'))
      })
    }
    const partly = async (options?: ReconcileOptions) =>
      (await listUnfinished(options)).map((one) => one.target)

    clause('ENF-458', `${undone}…`, async () => {
      await run('set role :owner; grant select on public.t, public.u to :seer, :ann; reset role')
      await whileHeld(async () => {
        // The second attempt is the one that closes, relation by relation.
        const turn = meanwhile(() => as('owner', 'revoke select on public.t from :seer, :ann'), [2])
        assert.deepEqual(await partly(turn), ['"public"."u"'])
        await isDenied('seer', 'select mail from public.t')
        await isDenied('ann', 'select id from public.t')
      })
      await settle()
      await release()
      assert.deepEqual(await listOf('seer'), ['u: SELECT'])
      assert.deepEqual(await listOf('ann'), ['u: SELECT'])
    })

    for (const role of ['bea', 'owner'] as const)
      clause(
        'ENF-459',
        'A role that changes the grants of a relation all the time, also as its owner, keeps it from being closed neither when…',
        async () => {
          await run(`set role :owner; grant select on public.t to :bea with grant option; grant select on public.t to :ann;
            reset role`)
          let isGranted = false
          const change = () => {
            isGranted = !isGranted
            return as(
              role,
              isGranted ? 'grant select on public.t to :cid' : 'revoke select on public.t from :cid',
            )
          }
          const turn = meanwhile(change)
          await reconcile(target.database, wanted('seer'), turn)
          assert.equal(turn.count(), 1)
          for (const one of ['ann', 'bea', 'cid'] as const) await isDenied(one, 'select mail from public.t')
          await release()
          await whileHeld(async () => {
            assert.deepEqual(await partly(meanwhile(change, [1, 2])), ['"public"."u"'])
            for (const one of ['ann', 'bea', 'cid'] as const) await isDenied(one, 'select mail from public.t')
          })
          await settle()
          assert.deepEqual([...(await as('ann', 'select mail from masked_public.t'))], [{ mail: 'XXXX' }])
        },
      )

    clause('ENF-458', `${undone}…`, async () => {
      // The role of the binding may not make a place for its records: the service keeps them.
      const kept = keepInMemory()
      const binding = target.connectAs('owner')
      const turn = async (options?: Pick<ReconcileOptions, 'lease'>) => {
        await reconcile(binding, wanted('seer'), { ...options, kept }).catch((error: Error) =>
          assert.match(error.message, /permission denied/),
        )
      }
      await run('set role :owner; grant select on public.t, public.whole to :seer, :ann; reset role')
      // The third attempt is that of a turn without a place for records.
      const act = () => as('owner', 'revoke select on public.t, public.whole from :seer, :ann')
      const raced = meanwhile(act, [3])
      await turn(raced)
      assert.equal(raced.count(), 3)
      await turn()
      for (const role of ['seer', 'ann'] as const) {
        await isDenied(role, 'select mail from public.t')
        await isDenied(role, 'select mail from public.whole')
      }
      await reconcile(binding, policy([]), { kept })
      assert.deepEqual(await listOf('seer'), [])
      assert.deepEqual(await listOf('ann'), [])
    })

    clause(
      'ENF-460',
      'A grant of a masked column that is made by hand is one of the twin at once, also where a turn goes relation by relation…',
      async () => {
        await settle()
        await whileHeld(async () => {
          await as(
            'owner',
            `grant select (mail) on public.t to :ann; grant select on public.whole to :bea with grant option;
            grant select (mail) on public.v to :ann`,
          )
          await partly().catch(() => {})
        })
        const locked = target.connectAs('owner')
        await as('owner', 'grant select on public.whole to :cid')
        await locked.transaction(async (tx) => {
          await tx.unsafe('lock table public.whole in access exclusive mode')
          await reconcile(target.database, wanted('seer')).catch(() => {})
        })
        await settle()
        assert.deepEqual([...(await as('ann', 'select mail from masked_public.t'))], [{ mail: 'XXXX' }])
        assert.deepEqual([...(await as('ann', 'select mail from masked_public.v'))], [{ mail: 'XXXX' }])
        for (const role of ['bea', 'cid'] as const)
          assert.deepEqual([...(await as(role, 'select mail from masked_public.whole'))], [{ mail: 'XXXX' }])
        await release()
        assert.deepEqual(await listOf('ann'), ['t.mail: SELECT', 'v.mail: SELECT'])
        assert.deepEqual(await listOf('bea'), ['whole: SELECT with grant option'])
        assert.deepEqual(await listOf('cid'), ['whole: SELECT'])
      },
    )

    clause(
      'ENF-461',
      'Records of an earlier release say what the turn before left at their relations, also where a turn writes the list of…',
      async () => {
        await run(`set role :owner; grant select, trigger on public.t, public.v to :ann; grant select (id, mail) on public.t to :bea;
          grant select on public.t to :seer; reset role`)
        const given = await Promise.all((['ann', 'bea', 'seer'] as const).map(listOf))
        await settle()
        const age = () =>
          run(
            `update masquerade_guard.relation set ${['grants', 'column_grants', 'rights']
              .map(
                (one) =>
                  `${one} = (select coalesce(jsonb_agg(g - 'left'), '[]') from jsonb_array_elements(${one}) g)`,
              )
              .join(', ')}`,
          )
        const focus = () => [{ schema: 'public', table: 'u' }]
        await age()
        // The turn writes that ann and bea are exempt, and looks at u alone.
        await reconcile(target.database, wanted('seer', 'ann', 'bea'), { focus })
        await settle(['seer', 'ann', 'bea'])
        for (const role of ['ann', 'bea', 'seer'] as const)
          assert.equal((await as(role, 'select mail from public.t'))[0]?.mail, 'raw', role)
        await age()
        // And the other way round: what seer loses between both turns was meant.
        await as('owner', 'revoke select on public.t from :seer')
        await reconcile(target.database, wanted(), { focus })
        await settle([])
        for (const role of ['ann', 'bea', 'seer'] as const) await isDenied(role, 'select mail from public.t')
        await release()
        assert.deepEqual(await Promise.all((['ann', 'bea', 'seer'] as const).map(listOf)), [
          ...given.slice(0, 2),
          [],
        ])
      },
    )
  })
})
