import assert from 'node:assert/strict'
import { after, before, beforeEach, describe } from 'node:test'
import type { Rule } from '../../../src/enforcement/policy.ts'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { clause } from '../../support/clause.ts'
import { keepInMemory } from '../../support/kept-in-memory.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { listPrivileges } from '../../support/privileges.ts'

/** Of table t, `mail` is masked; of view v, every column. `seer` and `dan` are exempt, `ann`, `bea` and PUBLIC are masked. */
interface Case {
  /** Run by the owner before masking. */
  readonly had: string
  /** Run before masking, behind `had`. */
  readonly passed?: readonly [by: 'ann' | 'bea', text: string]
  /** Run one after the other during masking, between two turns. */
  readonly done: readonly (readonly [by: 'owner' | 'dan' | 'bea' | 'superuser', text: string])[]
  /** SELECT of `who` when masking has ended, each with its grantor. */
  readonly who: 'seer' | 'ann' | 'public'
  readonly left: readonly string[]
  /** The same of `bea`. */
  readonly leftOfBea?: readonly string[]
}

const revokeAll = (who: string, on = 't') => ['owner', `revoke all on public.${on} from :${who}`] as const
const owner = (text: string) => ['owner', text] as const
const byOwner = (...names: string[]) => names.map((name) => `${name} by owner`)

/** What an exempt role had stands at the relation itself: what is not there any more was revoked. */
const ofExempt: readonly Case[] = [
  {
    had: 'grant select (id, name, mail) on public.t to :seer',
    done: [owner('revoke select (mail) on public.t from :seer')],
    who: 'seer',
    left: byOwner('t.id', 't.name'),
  },
  {
    had: 'grant select (id, mail) on public.v to :seer',
    done: [owner('revoke select (mail) on public.v from :seer')],
    who: 'seer',
    left: byOwner('v.id'),
  },
  {
    had: 'grant select (mail) on public.t to :seer',
    done: [revokeAll('seer')],
    who: 'seer',
    left: [],
  },
  {
    had: 'grant select on public.t to :seer',
    done: [
      owner(
        'begin; revoke select on public.t from :seer; grant select (id, name, note) on public.t to :seer; commit',
      ),
    ],
    who: 'seer',
    left: byOwner('t.id', 't.name', 't.note'),
  },
  {
    had: 'grant select on public.v to :seer',
    done: [owner('revoke select on public.v from :seer; grant select (id) on public.v to :seer')],
    who: 'seer',
    left: byOwner('v.id'),
  },
  {
    had: 'grant select on public.t to :seer; grant select (name) on public.t to :bea with grant option',
    done: [
      owner('revoke select on public.t from :seer'),
      ['bea', 'grant select (name) on public.t to :seer'],
    ],
    who: 'seer',
    left: ['t.name by bea'],
  },
  {
    had: `grant select on public.t to :seer with grant option; grant select (name) on public.t to :bea with grant option`,
    done: [
      owner('revoke grant option for select on public.t from :seer'),
      ['bea', 'grant select (name) on public.t to :seer with grant option'],
    ],
    who: 'seer',
    left: byOwner('t'),
  },
  {
    had: 'grant select on public.t to :seer; grant select (mail) on public.t to :seer',
    done: [owner('revoke select (mail) on public.t from :seer')],
    who: 'seer',
    left: byOwner('t'),
  },
]

/** Masked roles have the open columns alone, by the owner: a missing one was revoked, and masked ones end with it. */
const ofMasked: readonly Case[] = [
  ...(['ann', 'public'] as const).map((who) => ({
    had: `grant select on public.t to :${who}`,
    done: [owner(`revoke select on public.t from :${who}; grant select (id) on public.t to :${who}`)],
    who,
    left: byOwner('t.id'),
  })),
  {
    had: 'grant select on public.t to :ann',
    done: [owner('revoke select (note) on public.t from :ann')],
    who: 'ann',
    left: byOwner('t.id', 't.name'),
  },
  {
    had: 'grant select on public.t to :ann; grant select (name) on public.t to :bea with grant option',
    done: [revokeAll('ann'), ['bea', 'grant select (name) on public.t to :ann']],
    who: 'ann',
    left: ['t.name by bea'],
  },
  {
    had: 'grant select (id, name, mail) on public.t to :ann',
    done: [owner('revoke select on public.t from :ann; grant select (id) on public.t to :ann')],
    who: 'ann',
    left: byOwner('t.id'),
  },
  {
    had: 'grant select (name, mail) on public.t to :ann; grant select (name) on public.t to :bea with grant option',
    done: [revokeAll('ann'), ['bea', 'grant select (name) on public.t to :ann']],
    who: 'ann',
    left: ['t.name by bea'],
  },
  {
    had: 'grant select on public.t to :ann with grant option; grant select (name) on public.t to :bea with grant option',
    done: [
      owner('revoke grant option for select on public.t from :ann'),
      ['bea', 'grant select (name) on public.t to :ann with grant option'],
    ],
    who: 'ann',
    left: byOwner('t'),
  },
  {
    had: 'grant select on public.v to :ann',
    done: [
      ['superuser', 'revoke select on masked_public.v from :ann'],
      owner('grant select (id) on public.v to :ann'),
    ],
    who: 'ann',
    left: byOwner('v.id'),
  },
  // Granted anew as it was, in another order of statements or with a new column: nothing was revoked.
  ...['select', 'select (id, name, note, mail)'].map((what) => ({
    had: `grant ${what} on public.t to :ann`,
    done: [revokeAll('ann'), owner(`grant ${what} on public.t to :ann`)],
    who: 'ann' as const,
    left: what === 'select' ? byOwner('t') : byOwner('t.id', 't.name', 't.note', 't.mail'),
  })),
  {
    had: 'grant select on public.t to :ann',
    done: [
      owner('alter table public.t add column later text; alter table public.t drop column note cascade'),
    ],
    who: 'ann',
    left: byOwner('t'),
  },
  {
    had: 'grant select (id, note, mail) on public.t to :ann',
    done: [owner('alter table public.t drop column note cascade')],
    who: 'ann',
    left: byOwner('t.id', 't.mail'),
  },
]

/** With the grant option of a role goes what the role passed on. */
const ofOthers: readonly Case[] = [
  {
    had: 'grant select (name, mail) on public.t to :seer; grant select (name) on public.t to :bea with grant option',
    done: [
      revokeAll('seer'),
      ['bea', 'grant select (name) on public.t to :seer'],
      ['superuser', 'turn'],
      owner('revoke select on public.t from :bea cascade'),
    ],
    who: 'seer',
    left: [],
  },
  {
    had: 'grant select on public.t to :seer; grant select on public.t to :dan with grant option',
    done: [
      revokeAll('seer'),
      ['dan', 'grant select on public.t to :seer'],
      ['superuser', 'turn'],
      owner('revoke select on public.t from :dan cascade'),
    ],
    who: 'seer',
    left: [],
  },
  {
    had: 'grant select on public.t to :ann; grant select (name) on public.t to :bea with grant option',
    done: [
      revokeAll('ann'),
      ['bea', 'grant select (name) on public.t to :ann'],
      ['superuser', 'turn'],
      owner('revoke select on public.t from :bea cascade'),
    ],
    who: 'ann',
    left: [],
  },
]

/** Grants by one role are not ended by another. */
const ofGrantors: readonly Case[] = [
  ...(
    [
      ['bea', 'revoke select (id) on public.t from :ann'],
      ['owner', 'revoke select on public.t from :bea cascade'],
      ['owner', 'revoke grant option for select on public.t from :bea cascade'],
    ] as const
  ).map((end) => ({
    had: 'grant select (name, mail) on public.t to :ann; grant select (id) on public.t to :bea with grant option',
    done: [['bea', 'grant select (id) on public.t to :ann'] as const, ['superuser', 'turn'] as const, end],
    who: 'ann' as const,
    left: byOwner('t.name', 't.mail'),
  })),
  {
    had: `grant select (name, mail) on public.t to :ann with grant option;
      grant select (id) on public.t to :bea with grant option`,
    done: [
      ['bea', 'grant select (id) on public.t to :ann with grant option'],
      ['superuser', 'turn'],
      ['bea', 'revoke grant option for select (id) on public.t from :ann'],
    ],
    who: 'ann',
    left: ['t.id by bea', 't.mail by owner *', 't.name by owner *'],
  },
  {
    had: 'grant select (name, mail) on public.t to :ann; grant select (name) on public.t to :bea with grant option',
    passed: ['bea', 'grant select (name) on public.t to :ann'],
    done: [revokeAll('ann'), ['bea', 'grant select (name) on public.t to :ann']],
    who: 'ann',
    left: ['t.name by bea'],
  },
]

/** A GRANT of what a role has takes nothing from it. */
const ofGrantedAnew: readonly Case[] = [
  {
    had: 'grant select on public.t to :ann with grant option',
    passed: ['ann', 'grant select on public.t to :bea'],
    done: [owner('grant select on public.t to :ann')],
    who: 'ann',
    left: ['t by owner *'],
    leftOfBea: ['t by ann'],
  },
  {
    had: 'grant select on public.v to :ann with grant option',
    passed: ['ann', 'grant select on public.v to :bea'],
    done: [owner('grant select on all tables in schema public to :ann')],
    who: 'ann',
    left: ['t by owner', 'v by owner *'],
    leftOfBea: ['v by ann'],
  },
  ...['t', 'v'].map((on) => ({
    had: `grant select (id, mail) on public.${on} to :ann with grant option`,
    passed: ['ann', `grant select (id, mail) on public.${on} to :bea`] as const,
    done: [owner(`grant select (id, mail) on public.${on} to :ann`)],
    who: 'ann' as const,
    left: [`${on}.id by owner *`, `${on}.mail by owner *`],
    leftOfBea: [`${on}.id by ann`, `${on}.mail by ann`],
  })),
  // A grant option that was revoked stays so.
  ...['select', 'select (id, name, note, mail)'].flatMap((what) =>
    [
      `revoke ${what} on public.t from :ann cascade`,
      `revoke grant option for ${what} on public.t from :ann cascade`,
    ].map((text) => ({
      had: `grant ${what} on public.t to :ann with grant option`,
      passed: ['ann', `grant ${what} on public.t to :bea`] as const,
      done: [owner(`${text}; grant ${what} on public.t to :ann`)],
      who: 'ann' as const,
      left: what === 'select' ? byOwner('t') : byOwner('t.id', 't.name', 't.note', 't.mail'),
      leftOfBea: [],
    })),
  ),
  {
    had: 'grant select on public.v to :ann with grant option',
    passed: ['ann', 'grant select on public.v to :bea'],
    done: [
      ['superuser', 'revoke grant option for select on masked_public.v from :ann'],
      owner('grant select on public.v to :ann'),
    ],
    who: 'ann',
    left: byOwner('v'),
    leftOfBea: [],
  },
]

/** Two roles granted the same, or what belongs together. */
const ofTwoGrantors: readonly Case[] = [
  ...(
    [
      ['select on public.t', ['t']],
      ['select on public.v', ['v']],
      ['select (mail) on public.t', ['t.mail']],
    ] as const
  ).map(([what, lines]) => ({
    had: `grant ${what} to :bea with grant option`,
    passed: ['bea', `grant ${what} to :ann`] as const,
    done: [
      owner(`grant ${what} to :ann`),
      ['superuser', 'turn'] as const,
      owner(`revoke ${what} from :bea cascade`),
      ...(lines[0] === 't'
        ? []
        : [
            [
              'superuser',
              `revoke select on masked_public.${lines[0].slice(0, 1)} from :bea cascade`,
            ] as const,
          ]),
    ],
    who: 'ann' as const,
    left: byOwner(...lines),
    leftOfBea: [],
  })),
  {
    had: 'grant select on public.t to :bea with grant option',
    passed: ['bea', 'grant select on public.t to :ann'],
    done: [owner('grant select on public.t to :ann with grant option')],
    who: 'ann',
    left: ['t by bea', 't by owner *'],
  },
  // A column that the whole of another grantor covers.
  {
    had: 'grant select on public.t to :bea with grant option',
    passed: ['bea', 'grant select on public.t to :ann'],
    done: [
      owner('grant select (mail) on public.t to :ann'),
      ['superuser', 'turn'],
      owner('revoke select on public.t from :bea cascade'),
    ],
    who: 'ann',
    left: byOwner('t.mail'),
  },
  {
    had: 'grant select on public.t to :bea with grant option',
    passed: ['bea', 'grant select on public.t to :ann'],
    done: [
      owner('grant select on public.t to :ann'),
      ['superuser', 'turn'],
      owner('revoke select on public.t from :ann'),
    ],
    who: 'ann',
    left: [],
  },
  {
    had: 'grant select on public.t to :bea with grant option',
    passed: ['bea', 'grant select on public.t to :ann'],
    done: [owner('revoke select on public.t from :ann; grant select on public.t to :ann')],
    who: 'ann',
    left: byOwner('t'),
  },
]

/** What another role granted is by the owner during masking, so the owner's REVOKE ends it. */
const ofMerged: readonly Case[] = [
  {
    had: 'grant select on public.t to :ann; grant select on public.t to :bea with grant option',
    passed: ['bea', 'grant select on public.t to :ann'],
    done: [owner('revoke select on public.t from :ann')],
    who: 'ann',
    left: [],
  },
  {
    had: 'grant select (mail) on public.t to :ann; grant select (id) on public.t to :bea with grant option',
    passed: ['bea', 'grant select (id) on public.t to :ann'],
    done: [revokeAll('ann')],
    who: 'ann',
    left: [],
  },
  {
    had: 'grant select (mail) on public.t to :ann; grant select on public.t to :bea with grant option',
    passed: ['bea', 'grant select on public.t to :ann'],
    done: [revokeAll('ann')],
    who: 'ann',
    left: [],
  },
  {
    had: `grant select (mail) on public.t to :ann with grant option; grant select (id) on public.t to :bea with grant option`,
    passed: ['bea', 'grant select (id) on public.t to :ann with grant option'],
    done: [owner('revoke grant option for select on public.t from :ann cascade')],
    who: 'ann',
    left: ['t.id by bea', 't.mail by owner'],
  },
]

forEachCluster((cluster) => {
  describe('grants revoked by hand', () => {
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    const names = ['owner', 'seer', 'dan', 'ann', 'bea'] as const
    const roles = {} as Record<(typeof names)[number], string>
    const name = (text: string) =>
      text
        .replaceAll(':public', 'public')
        .replace(/:(\w+)/g, (whole, role: string) => (role in roles ? `"${roles[role as 'ann']}"` : whole))
    const run = (text: string) => target.database.sql.unsafe(name(text))
    const as = (role: (typeof names)[number], text: string) => target.runAs(role, name(text))
    const rules = [rule('public.t.mail')]
    const mask = async (exempt: readonly (typeof names)[number][] = ['seer', 'dan']) => {
      const wanted = policy(
        rules,
        exempt.map((one) => roles[one]),
      )
      await reconcile(target.database, wanted)
      assert.deepEqual((await reconcile(target.database, wanted)).steps, [])
    }
    const release = () => reconcile(target.database, policy([]))
    const listSelect = async (who: string) => {
      const lines = await listPrivileges(target.database, Object.values(roles))
      const nameOf = (role: string) => names.find((one) => roles[one] === role) ?? role
      return lines
        .flatMap((line) => {
          const [, what = '', to = '', by = '', option = ''] =
            /^(?:table|column) (?:public\.)?([\w.]+): SELECT to (\S+) by (\S+)( with grant option)?$/.exec(
              line,
            ) ?? []
          return nameOf(to) === (who === 'public' ? '-' : who)
            ? [`${what} by ${nameOf(by)}${option && ' *'}`]
            : []
        })
        .filter((line) => !/^(masked_|masquerade_)|pg\.dropped/.test(line))
        .sort()
    }

    before(async () => {
      target = await createMaskedDatabase(cluster)
      for (const one of names) roles[one] = await target.createRole(one)
    })
    beforeEach(async () => {
      await release()
      await run(`drop schema public cascade; create schema public; grant usage on schema public to public;
        create table public.t (id int, name text, note text, mail text); insert into public.t values (1, 'n', 'o', 'raw');
        create view public.v as select id, mail from public.t;
        alter table public.t owner to :owner; alter view public.v owner to :owner`)
    })
    after(() => target[Symbol.asyncDispose]())

    const check = async ({ had, passed, done, who, left, leftOfBea }: Case) => {
      await run(`set role :owner; ${had}; reset role`)
      if (passed) await as(...passed)
      await mask()
      for (const [by, text] of done)
        await (text === 'turn' ? mask() : by === 'superuser' ? run(text) : as(by, text))
      await mask()
      // During masking a turn grants what other roles granted, too.
      const bare = (lines: readonly string[]) => lines.map((line) => line.replace(/ by .*/, '')).sort()
      if (who === 'seer') assert.deepEqual(bare(await listSelect(who)), bare(left), `during: ${had}`)
      await release()
      assert.deepEqual(await listSelect(who), [...left].sort(), had)
      if (leftOfBea) assert.deepEqual(await listSelect('bea'), leftOfBea, had)
    }

    for (const each of ofExempt)
      clause(
        'ENF-442',
        'SELECT of an exempt role that is revoked by hand, on the whole relation or on a column, stays revoked during masking…',
        () => check(each),
      )

    for (const each of ofMasked)
      clause(
        'ENF-443',
        'A masked role with SELECT on the whole relation of which an open column is revoked by hand keeps the columns that…',
        () => check(each),
      )

    for (const each of ofOthers)
      clause(
        'ENF-444',
        'Where SELECT by the owner was revoked and another role grants the same, it is recorded as a grant by that role, and…',
        () => check(each),
      )

    for (const each of [...ofGrantors, ...ofGrantedAnew])
      clause(
        'ENF-446',
        'A grant by one role does not end because another role revokes its own, nor a grant option because the owner grants…',
        () => check(each),
      )

    for (const each of ofTwoGrantors)
      clause(
        'ENF-487',
        'SELECT that the owner grants by hand to a masked role which has the same by another grantor is recorded beside it…',
        () => check(each),
      )

    for (const each of ofMerged)
      clause(
        'ENF-488',
        'SELECT that other roles granted to a masked role is by the owner during masking, and ends where the owner revokes it…',
        () => check(each),
      )

    describe('that masking took', () => {
      const wanted = (...exempt: (typeof names)[number][]) =>
        policy(
          [...rules, rule('public.u.mail')],
          exempt.map((one) => roles[one]),
        )
      let given: string[]
      const settle = async (...exempt: (typeof names)[number][]) => {
        await reconcile(target.database, wanted(...exempt))
        assert.deepEqual((await reconcile(target.database, wanted(...exempt))).steps, [])
      }
      const isRaw = async (role: (typeof names)[number]) => {
        for (const text of ['select mail from public.t', 'select mail from public.v'])
          assert.equal((await as(role, text))[0]?.mail, 'raw', text)
      }
      const all = async () => {
        const lines = await listPrivileges(target.database, Object.values(roles))
        return lines.filter((line) => !line.includes('masquerade_twins'))
      }
      beforeEach(async () => {
        await run(`create table public.u (id int, mail text); alter table public.u owner to :owner; set role :owner;
          grant select, trigger on public.t, public.v to :ann; grant select (id, mail), references (mail) on public.t to :bea with grant option;
          grant select (mail) on public.v to :bea; grant select on public.u to :ann, :bea; grant select on public.t, public.v to :seer; reset role`)
        given = await all()
      })
      const endsAsBefore = async () => {
        await release()
        assert.deepEqual(await all(), given)
      }

      clause(
        'ENF-445',
        'Grants that masking took from a role come back when the role becomes exempt or the masks…',
        async () => {
          await settle('seer')
          // The grant of another session keeps this turn from changing t, and the list of exempt roles is written.
          const other = target.connectAs('owner')
          await other.transaction(async (tx) => {
            await tx.unsafe(name('grant select (id) on public.t to :dan'))
            await assert.rejects(reconcile(target.database, wanted('seer', 'ann', 'bea')), /"public"."t"/)
            await tx.unsafe(name('revoke select (id) on public.t from :dan'))
          })
          const [list] = await run('select exempt from masquerade_guard.policy')
          assert.ok(list?.exempt.includes(roles.ann))
          await settle('seer', 'ann', 'bea')
          await isRaw('ann')
          await isRaw('bea')
          // And the other way round.
          await other.transaction(async (tx) => {
            await tx.unsafe(name('grant select (id) on public.t to :dan'))
            await assert.rejects(reconcile(target.database, wanted('seer')), /"public"."t"/)
            await tx.unsafe(name('revoke select (id) on public.t from :dan'))
          })
          await settle('seer')
          await assert.rejects(as('ann', 'select mail from public.t'), /permission denied/)
          await endsAsBefore()
        },
      )

      clause(
        'ENF-445',
        'Grants that masking took from a role come back when the role becomes exempt or the masks…',
        async () => {
          await settle('seer')
          // A turn about u alone writes that ann is exempt by her new membership.
          await run('grant :seer to :ann')
          const focus = () => [{ schema: 'public', table: 'u' }]
          await reconcile(target.database, wanted('seer'), { focus })
          await settle('seer')
          await isRaw('ann')
          await run('revoke :seer from :ann')
          await reconcile(target.database, wanted('seer'), { focus })
          await settle('seer')
          await assert.rejects(as('ann', 'select mail from public.t'), /permission denied/)
          // A turn that is rolled back at its last statement.
          let last = 0
          await reconcile(target.database, wanted('seer', 'ann', 'bea'), { dryRun: true }).then(
            ({ steps }) => {
              last = steps.length - 1
            },
          )
          const beforeStep = (at: number) => {
            if (at === last) throw Object.assign(new Error('the node died'), { code: '57P01' })
          }
          await assert.rejects(reconcile(target.database, wanted('seer', 'ann', 'bea'), { beforeStep }))
          await settle('seer', 'ann', 'bea')
          await isRaw('bea')
          await settle()
          await endsAsBefore()
        },
      )

      clause(
        'ENF-445',
        'Grants that masking took from a role come back when the role becomes exempt or the masks…',
        async () => {
          const forget = (column: string) =>
            `${column} = (select coalesce(jsonb_agg(g - 'left'), '[]') from jsonb_array_elements(${column}) g)`
          const age = () =>
            run(
              `update masquerade_guard.relation set ${['grants', 'column_grants', 'rights'].map(forget).join(', ')}`,
            )
          await settle('seer')
          await age()
          await settle('seer', 'ann', 'bea')
          await isRaw('ann')
          await isRaw('bea')
          await age()
          await settle('seer')
          await age()
          await endsAsBefore()
          // What is revoked from an exempt role stays so here, too.
          await settle('seer')
          await age()
          await as('owner', 'revoke select on public.t from :seer; grant select (id) on public.t to :seer')
          await settle('seer')
          await assert.rejects(as('seer', 'select mail from public.t'), /permission denied/)
          await release()
          assert.deepEqual(await listSelect('seer'), ['t.id by owner', 'v by owner'])
        },
      )
    })

    clause(
      'ENF-442',
      'SELECT of an exempt role that is revoked by hand, on the whole relation or on a column, stays revoked during masking…',
      async () => {
        // The role of the binding is no superuser, and may not make a place for its records: the service keeps them.
        const kept = keepInMemory()
        const turn = async (rules: readonly Rule[], ...exempt: (typeof names)[number][]) => {
          const wanted = policy(
            rules,
            exempt.map((one) => roles[one]),
          )
          await reconcile(target.connectAs('owner'), wanted, { kept }).catch((error: Error) =>
            assert.match(error.message, /permission denied/),
          )
        }
        await run(`set role :owner; grant select (id, name, mail) on public.t to :seer, :bea; grant select on public.t to :ann, :dan;
          reset role`)
        const before = await listSelect('ann')
        await turn(rules, 'seer', 'dan')
        assert.equal(kept.count(), 2)
        await as(
          'owner',
          `revoke select (mail) on public.t from :seer;
          revoke select on public.t from :dan; grant select (id, name, note) on public.t to :dan`,
        )
        await turn(rules, 'seer', 'dan')
        for (const role of ['seer', 'dan', 'ann', 'bea'] as const)
          await assert.rejects(as(role, 'select mail from public.t'), /permission denied/, role)
        // Grants that masking took come back.
        await turn(rules, 'seer', 'dan', 'ann')
        assert.equal((await as('ann', 'select mail from public.t'))[0]?.mail, 'raw')
        await turn(rules, 'seer')
        await turn([], 'seer')
        assert.deepEqual(await listSelect('seer'), byOwner('t.id', 't.name'))
        assert.deepEqual(await listSelect('dan'), byOwner('t.id', 't.name', 't.note'))
        assert.deepEqual(await listSelect('bea'), byOwner('t.id', 't.mail', 't.name'))
        assert.deepEqual(await listSelect('ann'), before)
      },
    )
  })
})
