import assert from 'node:assert/strict'
import { after, before, beforeEach, describe } from 'node:test'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { listPrivileges } from '../../support/privileges.ts'

forEachCluster((cluster) => {
  describe('revokes during masking', () => {
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    const names = ['owner', 'ann', 'bea', 'cid', 'dan'] as const
    const roles = {} as Record<(typeof names)[number], string>
    const name = (text: string) =>
      text.replace(/:(\w+)/g, (whole, role: string) => (role in roles ? `"${roles[role as 'ann']}"` : whole))
    const run = (text: string) => target.database.sql.unsafe(name(text))
    const as = (role: (typeof names)[number], text: string) => target.runAs(role, name(text))
    const isDenied = (role: (typeof names)[number], text: string) =>
      assert.rejects(as(role, text), /permission denied/, `${role}: ${text}`)
    const mask = async () => {
      const wanted = policy([rule('public.t.mail'), rule('public.whole.mail')])
      await reconcile(target.database, wanted)
      assert.deepEqual((await reconcile(target.database, wanted)).steps, [])
    }
    const release = () => reconcile(target.database, policy([]))
    const rightsOf = async (role: (typeof names)[number]) =>
      (await listPrivileges(target.database, Object.values(roles)))
        .filter((line) => line.includes(` to ${roles[role]} `))
        .map((line) => line.replace(/ to .*/, ''))
        .sort()

    before(async () => {
      target = await createMaskedDatabase(cluster)
      for (const one of names) roles[one] = await target.createRole(one)
    })
    beforeEach(async () => {
      await release()
      await run(`drop schema public cascade; create schema public; grant usage on schema public to public;
        create table public.t (id int, name text, mail text); insert into public.t values (1, 'n', 'raw');
        create table public.whole (mail text); insert into public.whole values ('raw');
        alter table public.t owner to :owner; alter table public.whole owner to :owner`)
    })
    after(() => target[Symbol.asyncDispose]())

    clause(
      'ENF-316',
      'A masked role whose privileges on a relation were all revoked by hand during masking gets TRIGGER, REFERENCES and MAINTAIN back no more than SELECT when masking ends. A role that had none but these leaves no trace and gets them back.',
      async () => {
        await run(`grant all on public.t to :ann; grant insert, trigger on public.t to :bea;
          grant trigger, references (mail) on public.t to :cid; grant select, insert, references on public.t to :dan`)
        const [cid, dan] = [await rightsOf('cid'), await rightsOf('dan')]
        await mask()
        await as('owner', 'revoke all on public.t from :ann, :bea; revoke select on public.t from :dan')
        await mask()
        await release()
        assert.deepEqual(await rightsOf('ann'), [])
        assert.deepEqual(await rightsOf('bea'), [])
        assert.deepEqual(await rightsOf('cid'), cid)
        assert.deepEqual(
          await rightsOf('dan'),
          dan.filter((line) => !line.includes('SELECT')),
        )
      },
    )

    /** Privileges of ann, each with its grantor. `bea` may pass on what `had` gives with its option. */
    const ofGrantors: readonly {
      readonly had: string
      readonly passed?: string
      readonly done: readonly (readonly [by: (typeof names)[number], text: string])[]
      readonly left: readonly string[]
    }[] = [
      // Another grantor's privilege keeps none that the owner revoked …
      {
        had: 'grant select, trigger, references (mail) on public.t to :ann; grant insert on public.t to :bea with grant option',
        passed: 'grant insert on public.t to :ann',
        done: [['owner', 'revoke all on public.t from :ann']],
        left: ['INSERT by bea'],
      },
      {
        had: 'grant update (id), trigger on public.t to :ann; grant insert (id) on public.t to :bea with grant option',
        passed: 'grant insert (id) on public.t to :ann',
        done: [['owner', 'revoke all on public.t from :ann']],
        left: ['INSERT by bea'],
      },
      // SELECT by another is by the owner during masking: the owner's REVOKE shows there.
      {
        had: `grant trigger on public.t to :ann; grant select, insert on public.t to :bea with grant option`,
        passed: 'grant select, insert on public.t to :ann',
        done: [['owner', 'revoke all on public.t from :ann']],
        left: ['INSERT by bea'],
      },
      // … also where the owner grants one of them anew.
      {
        had: 'grant insert, trigger, references on public.t to :ann',
        done: [['owner', 'revoke all on public.t from :ann; grant trigger on public.t to :ann']],
        left: ['TRIGGER by owner'],
      },
      // What another grantor revokes ends none of the owner's.
      {
        had: 'grant trigger on public.t to :ann; grant insert on public.t to :bea with grant option',
        passed: 'grant insert on public.t to :ann',
        done: [['bea', 'revoke insert on public.t from :ann']],
        left: ['TRIGGER by owner'],
      },
      {
        had: 'grant select on public.t to :ann; grant insert, trigger on public.t to :bea with grant option',
        passed: 'grant trigger on public.t to :ann',
        done: [['owner', 'revoke all on public.t from :ann']],
        left: ['TRIGGER by bea'],
      },
      {
        had: 'grant insert on public.t to :bea; grant select, trigger on public.t to :bea with grant option',
        passed: 'grant select, trigger on public.t to :ann',
        done: [
          ['owner', 'revoke select on public.t from :bea cascade'],
          ['owner', 'turn'],
        ],
        left: ['TRIGGER by bea'],
      },
      // Grants of a former owner are the owner's.
      {
        had: 'grant insert, trigger on public.t to :ann',
        done: [['cid', 'turn']],
        left: ['INSERT by cid', 'TRIGGER by cid'],
      },
      {
        had: 'grant insert, trigger on public.t to :ann; grant update on public.t to :bea with grant option',
        passed: 'grant update on public.t to :ann',
        done: [
          ['cid', 'turn'],
          ['cid', 'revoke all on public.t from :ann'],
        ],
        left: ['UPDATE by bea'],
      },
      // The owner grants what another role granted: both are recorded.
      {
        had: 'grant insert, trigger on public.t to :bea with grant option',
        passed: 'grant trigger on public.t to :ann',
        done: [
          ['owner', 'grant trigger on public.t to :ann'],
          ['owner', 'turn'],
          ['owner', 'revoke all on public.t from :bea cascade'],
        ],
        left: ['TRIGGER by owner'],
      },
    ]
    for (const { had, passed, done, left } of ofGrantors)
      clause(
        'ENF-486',
        'TRIGGER, REFERENCES and MAINTAIN of a masked role end with its other privileges by the same grantor…',
        async () => {
          await run(`set role :owner; ${had}; reset role`)
          if (passed) await as('bea', passed)
          await mask()
          for (const [by, text] of done) {
            if (by === 'cid') await run('alter table public.t owner to :cid')
            await (text === 'turn' ? mask() : as(by, text))
          }
          await mask()
          await release()
          const lines = await listPrivileges(target.database, Object.values(roles))
          const nameOf = (role: string | undefined) => names.find((one) => roles[one] === role)
          const ofAnn = lines.flatMap((line) => {
            const [, what, to, by] = /: (\w+) to (\S+) by (\S+)/.exec(line) ?? []
            return nameOf(to) === 'ann' ? [`${what} by ${nameOf(by)}`] : []
          })
          assert.deepEqual(ofAnn.sort(), [...left].sort(), had)
        },
      )

    clause(
      'ENF-317',
      'A grant of a masked column by name is revoked at the twin, by a role that may act as the owner of the twin: the revoke holds during masking and after it, and so does a revoke of everything at the relation, where the role also had SELECT on other columns.',
      async () => {
        await run(`grant select (mail) on public.t to :ann; grant select (id, mail) on public.t to :bea;
          grant select on public.t to :cid; grant select (mail) on public.t to :cid; grant select (mail) on public.t to :dan;
          grant select (mail) on public.whole to :ann, :bea`)
        await mask()
        await as('owner', 'revoke all on public.t from :ann, :cid')
        await run(`revoke select on masked_public.t from :ann; revoke select (mail) on masked_public.t from :bea;
          revoke select (mail) on masked_public.whole from :ann`)
        await mask()
        for (const role of ['ann', 'bea', 'cid'] as const)
          await isDenied(role, 'select mail from masked_public.t')
        await isDenied('ann', 'select mail from masked_public.whole')
        assert.deepEqual([...(await as('dan', 'select mail from masked_public.t'))], [{ mail: 'XXXX' }])
        // Renamed columns are the same columns.
        await run('alter table public.t rename mail to post')
        await mask()
        await release()
        for (const role of ['ann', 'bea', 'cid'] as const) await isDenied(role, 'select post from public.t')
        await isDenied('ann', 'select mail from public.whole')
        assert.deepEqual([...(await as('bea', 'select id from public.t'))], [{ id: 1 }])
        assert.deepEqual([...(await as('dan', 'select post from public.t'))], [{ post: 'raw' }])
        assert.deepEqual([...(await as('bea', 'select mail from public.whole'))], [{ mail: 'raw' }])
      },
    )

    clause('ENF-317', 'A grant of a masked column by name is revoked at the twin…', async () => {
      await run('grant select (mail) on public.t to :ann')
      await mask()
      await run('revoke select on masked_public.t from :ann')
      await as('owner', 'grant select (mail) on public.t to :ann')
      await mask()
      assert.deepEqual([...(await as('ann', 'select mail from masked_public.t'))], [{ mail: 'XXXX' }])
      await isDenied('ann', 'select mail from public.t')
    })

    describe('of grant options', () => {
      const exempting = async () => {
        const wanted = policy([rule('public.t.mail'), rule('public.whole.mail')], [roles.ann])
        await reconcile(target.database, wanted)
        assert.deepEqual((await reconcile(target.database, wanted)).steps, [])
      }
      const give = async (what: string) => {
        await run(`grant ${what} to :ann, :bea with grant option`)
        // What both pass on, to a masked role.
        for (const [from, to] of [
          ['ann', 'cid'],
          ['bea', 'dan'],
        ] as const)
          await as(from, `grant ${what} to :${to}`)
        await exempting()
      }
      const endsWith = async (expected: readonly string[]) => {
        await exempting()
        await release()
        const lines = await listPrivileges(target.database, Object.values(roles))
        const ours = lines.flatMap((line) => {
          const [, what, role, option = ''] =
            / public\.(.*) to (\S+) by \S+( with grant option)?$/.exec(
              line.replace(/^(table|column) (?!public)/, '$1 public.'),
            ) ?? []
          const known = names.find((one) => roles[one] === role)
          return known && known !== 'owner' ? [`${known} ${what}${option && ' *'}`] : []
        })
        assert.deepEqual(ours.sort(), [...expected].sort())
      }

      clause(
        'ENF-409',
        'A grant option of SELECT that is revoked by hand during masking stays revoked, and what the role passed on by it ends…',
        async () => {
          await give('select (id, mail) on public.t')
          await as('owner', 'revoke grant option for select on public.t from :ann, :bea cascade')
          await endsWith(['ann t.id: SELECT', 'ann t.mail: SELECT', 'bea t.id: SELECT', 'bea t.mail: SELECT'])
        },
      )

      clause(
        'ENF-409',
        'A grant option of SELECT that is revoked by hand during masking stays revoked, and what the role passed on by it ends…',
        async () => {
          await give('select on public.t')
          await as('owner', 'revoke grant option for select on public.t from :ann, :bea cascade')
          await endsWith(['ann t: SELECT', 'bea t: SELECT'])

          await give('select (id, mail) on public.t')
          await as('owner', 'revoke grant option for select (mail) on public.t from :ann cascade')
          await run('revoke grant option for select (mail) on masked_public.t from :bea cascade')
          await endsWith([
            'ann t.id: SELECT *',
            'ann t: SELECT',
            'ann t.mail: SELECT',
            'bea t.id: SELECT *',
            'bea t: SELECT',
            'bea t.mail: SELECT',
            'cid t.id: SELECT',
            'dan t.id: SELECT',
          ])
        },
      )

      clause(
        'ENF-409',
        'A grant option of SELECT that is revoked by hand during masking stays revoked, and what the role passed on by it ends…',
        async () => {
          await give('select on public.whole')
          await as('owner', 'revoke grant option for select on public.whole from :ann cascade')
          await run('revoke grant option for select on masked_public.whole from :bea cascade')
          await endsWith(['ann whole: SELECT', 'bea whole: SELECT'])
        },
      )

      clause(
        'ENF-410',
        'A grant option of TRIGGER, REFERENCES or MAINTAIN of an exempt role that is revoked by hand stays revoked, and so…',
        async () => {
          await give('references (mail), trigger on public.t')
          await as('owner', 'revoke grant option for references, trigger on public.t from :ann cascade')
          await endsWith([
            'ann t.mail: REFERENCES',
            'ann t: TRIGGER',
            // Of a masked role there is no trace of them.
            'bea t.mail: REFERENCES *',
            'bea t: TRIGGER *',
            'dan t.mail: REFERENCES',
            'dan t: TRIGGER',
          ])
          await run('revoke all on public.t from :ann, :bea cascade')
          await give('references on public.t')
          await as('owner', 'revoke references on public.t from :ann cascade')
          await endsWith(['bea t: REFERENCES *', 'dan t: REFERENCES'])
        },
      )

      clause(
        'ENF-411',
        'TRIGGER, REFERENCES and MAINTAIN that an exempt role passed on to another are by that role again when masking ends.',
        async () => {
          await run('grant trigger on public.t to :ann with grant option')
          await as('ann', 'grant trigger on public.t to :bea')
          const before = await rightsOf('bea')
          const all = async () =>
            (await listPrivileges(target.database, Object.values(roles))).filter((line) =>
              line.includes('TRIGGER'),
            )
          const given = await all()
          const wanted = policy([rule('public.t.mail')], [roles.ann, roles.bea])
          await reconcile(target.database, wanted)
          await release()
          assert.deepEqual(await rightsOf('bea'), before)
          assert.deepEqual(await all(), given)
        },
      )

      clause(
        'ENF-409',
        'A grant option of SELECT that is revoked by hand during masking stays revoked, and what the role passed on by it ends…',
        async () => {
          await run('grant select (id, mail) on public.t to :ann, :bea')
          await exempting()
          await as('owner', 'grant select (id) on public.t to :ann, :bea with grant option')
          await endsWith([
            'ann t.id: SELECT *',
            'ann t.mail: SELECT',
            'bea t.id: SELECT *',
            'bea t.mail: SELECT',
          ])
        },
      )

      clause(
        'ENF-412',
        'What several roles granted to one comes back by each of them when masking ends, with the grant option where it had one, and…',
        async () => {
          const all = async () =>
            (await listPrivileges(target.database, Object.values(roles))).filter(
              (line) => /TRIGGER|SELECT|REFERENCES/.test(line) && !line.includes(` to ${roles.owner} `),
            )
          const what = 'trigger, select, references on public.t'
          await run(`grant ${what} to :ann, :dan with grant option; grant insert on public.t to :cid`)
          // Against the order of names, too: each role passes on what the one behind it in the alphabet gave.
          await as('dan', `grant ${what} to :cid with grant option`)
          await as('cid', `grant ${what} to :bea with grant option`)
          await as('bea', `grant ${what} to :ann`)
          const given = await all()
          for (const exempt of [['ann'], ['ann', 'bea', 'cid', 'dan'], []] as const) {
            const wanted = policy(
              [rule('public.t.mail')],
              exempt.map((one) => roles[one]),
            )
            await reconcile(target.database, wanted)
            assert.deepEqual((await reconcile(target.database, wanted)).steps, [], `${exempt} are exempt`)
            await release()
            assert.deepEqual(await all(), given, `${exempt} were exempt`)
          }
        },
      )
    })
  })
})
