import assert from 'node:assert/strict'
import { after, before, beforeEach, describe } from 'node:test'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { clause } from '../../support/clause.ts'
import { keepInMemory } from '../../support/kept-in-memory.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { listPrivileges } from '../../support/privileges.ts'

/** Of t, `mail` is masked. Each test has an `eve` of its own, and drops it. */
forEachCluster((cluster) => {
  describe('grants of roles that are dropped', () => {
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    const names = ['owner', 'ann', 'bea', 'cid'] as const
    const roles = {} as Record<(typeof names)[number] | 'eve', string>
    const name = (text: string) =>
      text.replace(/:(\w+)/g, (whole, role: string) => (role in roles ? `"${roles[role as 'ann']}"` : whole))
    const run = (text: string) => target.database.sql.unsafe(name(text))
    const as = (role: (typeof names)[number] | 'eve', text: string) =>
      run(`set role :${role}; ${text}; reset role`)
    const reads = (role: 'ann' | 'bea', text: string) => target.runAs(role, text)
    const rules = [rule('public.t.mail')]
    const mask = async (...exempt: (typeof names)[number][]) => {
      const wanted = policy(
        rules,
        exempt.map((one) => roles[one]),
      )
      await reconcile(target.database, wanted)
      assert.deepEqual((await reconcile(target.database, wanted)).steps, [])
    }
    const release = () => reconcile(target.database, policy([]))
    const drop = (role: 'eve' | 'owner') => run(`drop owned by :${role}; drop role :${role}`)
    /** All privileges on t but the owner's own, as `SELECT mail ann by owner`. */
    const list = async () => {
      const nameOf = (role: string) =>
        Object.entries(roles).find(([, full]) => full === role)?.[0] ?? (role === '-' ? 'public' : role)
      return (await listPrivileges(target.database, Object.values(roles))).flatMap((line) => {
        const [, column, privilege, to = '', by = '', option = ''] =
          /^(?:table|column) t\.?(\w*): (\w+) to (\S+) by (\S+)( with grant option)?$/.exec(line) ?? []
        return privilege === undefined || to === by
          ? []
          : [`${privilege} ${column && `${column} `}${nameOf(to)} by ${nameOf(by)}${option && ' *'}`]
      })
    }

    before(async () => {
      target = await createMaskedDatabase(cluster)
      for (const one of names) roles[one] = await target.createRole(one)
    })
    let made = 0
    beforeEach(async () => {
      await release()
      roles.eve = await target.createRole(`eve${++made}`)
      await run(`drop schema public cascade; create schema public; grant usage on schema public to public;
        create table public.t (id int, name text, mail text); insert into public.t values (1, 'n', 'raw');
        alter table public.t owner to :owner`)
    })
    after(() => target[Symbol.asyncDispose]())

    const ended =
      'Grants that a role passed on by a grant option end when the role is dropped, during masking and after it, with all that…'

    const cases = [
      {
        had: 'grant select, trigger, references on public.t to :eve with grant option; grant insert on public.t to :ann',
        passed: [
          [
            'eve',
            'grant select, trigger on public.t to :ann; grant select, references on public.t to public',
          ],
        ],
        left: ['INSERT ann by owner'],
      },
      {
        had: 'grant select (id, mail), references (mail) on public.t to :eve with grant option',
        passed: [['eve', 'grant select (id, mail), references (mail) on public.t to :ann']],
        left: [],
      },
      {
        // What the same role has by others stays.
        had: 'grant select, trigger on public.t to :eve with grant option; grant select, trigger on public.t to :ann',
        passed: [['eve', 'grant select, trigger on public.t to :ann']],
        left: ['SELECT ann by owner', 'TRIGGER ann by owner'],
      },
      {
        had: 'grant select, trigger on public.t to :eve with grant option',
        passed: [
          ['eve', 'grant select, trigger on public.t to :bea with grant option'],
          ['bea', 'grant select, trigger on public.t to :ann'],
          ['bea', 'grant select (mail) on public.t to :cid'],
        ],
        left: [],
      },
    ] as const
    for (const { had, passed, left } of cases)
      for (const turn of [true, false])
        clause('ENF-505', ended, async () => {
          await as('owner', had)
          for (const [by, text] of passed) await as(by, text)
          await mask()
          await drop('eve')
          if (turn) await mask()
          await release()
          assert.deepEqual(await list(), left, `${had}, ${turn ? 'with' : 'without'} a turn`)
        })

    clause('ENF-505', ended, async () => {
      await as('owner', 'grant select on public.t to :eve with grant option')
      await as('eve', 'grant select on public.t to :ann; grant select (mail) on public.t to :bea')
      await mask('ann', 'bea')
      for (const role of ['ann', 'bea'] as const)
        assert.deepEqual(await reads(role, 'select mail from public.t'), [{ mail: 'raw' }])
      await drop('eve')
      await mask('ann', 'bea')
      for (const role of ['ann', 'bea'] as const)
        await assert.rejects(reads(role, 'select mail from public.t'), /permission denied/)
      await release()
      assert.deepEqual(await list(), [])
    })

    clause('ENF-505', ended, async () => {
      // The service keeps the records, and writes them again before it gives anything back.
      const kept = keepInMemory()
      const turn = (some: typeof rules) =>
        reconcile(target.connectAs('owner'), policy(some), { kept }).catch((error: Error) =>
          assert.match(error.message, /permission denied|lock timeout/),
        )
      await as('owner', 'grant select, trigger on public.t to :eve with grant option')
      await as('eve', 'grant select, trigger on public.t to :ann')
      await turn(rules)
      assert.equal(kept.count(), 1)
      await drop('eve')
      const other = target.connectAs('owner')
      await other.transaction(async (tx) => {
        await tx.unsafe(name('grant select (id) on public.t to :cid'))
        await turn([])
        await tx.unsafe(name('revoke select (id) on public.t from :cid'))
      })
      assert.equal(kept.count(), 1)
      await turn([])
      assert.equal(kept.count(), 0)
      assert.deepEqual(await list(), [])
    })

    clause('ENF-505', ended, async () => {
      // A grant option that ends with the one that it was granted by takes grants of columns along.
      await as('owner', 'grant select on public.t to :eve with grant option')
      await as('eve', 'grant select on public.t to :bea with grant option')
      await as('bea', 'grant select (mail) on public.t to :ann')
      await mask()
      await as('owner', 'revoke select on public.t from :eve cascade')
      await mask()
      await release()
      assert.deepEqual(await list(), [])
    })

    clause('ENF-505', ended, async () => {
      // Grants of a former owner are the next one's, whatever became of it.
      const former = roles.owner
      await as('owner', 'grant select, trigger on public.t to :ann; grant select (mail) on public.t to :bea')
      await mask()
      await run('alter table public.t owner to :cid')
      await drop('owner')
      await mask()
      await release()
      const left = ['SELECT ann by cid', 'SELECT mail bea by cid', 'TRIGGER ann by cid']
      assert.deepEqual((await list()).sort(), left)
      await run(`create role "${former}" login password 'secret'; drop table public.t`)
    })
  })
})
