import assert from 'node:assert/strict'
import { after, afterEach, before, describe, test } from 'node:test'
import { type Database, openDatabase } from '../../../src/db/database.ts'
import { writeMark } from '../../../src/logins/mark.ts'
import type { LoginOutcome } from '../../../src/masks/control/login-port.ts'
import { clause } from '../../support/clause.ts'
import { createTestLogins, derivePassword, testKeys } from '../../support/logins.ts'
import { createMaskedDatabase } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { promised, waitUntil } from '../../support/wait-until.ts'

type Target = Awaited<ReturnType<typeof createMaskedDatabase>>

/** The role that the service connects as. */
const bindings = ['a superuser', 'a role that may create roles'] as const

forEachCluster((cluster) => {
  for (const binding of bindings)
    describe(`login roles, made by ${binding}`, () => {
      let target: Target
      let session: Database
      let version = 0
      let [readers, writers, database, binder]: [string, string, string, string] = ['', '', '', '']
      let directory: ReturnType<typeof createTestLogins>
      /** Databases whose login roles are made here, by their ids. */
      const ids: string[] = []
      const opened: Database[] = []
      const run = (text: string) => target.database.sql.unsafe(text)

      before(async () => {
        target = await createMaskedDatabase(cluster)
        readers = await target.createRole('readers', '')
        writers = await target.createRole('writers', '')
        database = target.url.replace(/^.*\//, '')
        const [row] = await run(`select current_setting('server_version_num')::int as version`)
        version = row?.version
        await run(`create table public.person (id int, email text); insert into public.person values (1, 'raw');
          grant usage, create on schema public to public;
          grant select on public.person to "${readers}"; grant insert on public.person to "${writers}"`)
        if (binding === 'a superuser') session = target.database
        else {
          binder = await target.createRole('binder', 'LOGIN CREATEROLE')
          await adopt(readers, writers)
          session = target.connectAs('binder')
        }
        directory = createLogins()
      })
      afterEach(async () => {
        directory.clear()
        await directory.settle()
      })
      after(async () => {
        await Promise.all(opened.map((one) => one.close()))
        // Roles of the same kind that other tests make at the same server are theirs to drop.
        for (const { name } of await run(
          `select rolname as name from pg_roles where rolname like '%${database}%'
            or rolname like 'masquerade former%' and shobj_description(oid, 'pg_authid') ~ '${ids.join('|')}'`,
        ))
          await run(
            `drop owned by "${name.replaceAll('"', '""')}"; drop role "${name.replaceAll('"', '""')}"`,
          )
        await target[Symbol.asyncDispose]()
      })

      const createLogins = (bound: readonly string[] = []) => {
        const made = createTestLogins(session, { bound })
        ids.push(made.databaseId)
        return made
      }
      /** What it takes for the role of the binding to hand roles on. */
      const adopt = async (...roles: string[]) => {
        if (binding === 'a superuser' || version < 160000) return
        for (const role of roles)
          await run(`grant "${role}" to "${binder}" with admin true, inherit false, set false`)
      }
      const addressOf = (role: string, password: string): string => {
        const url = new URL(target.url)
        url.username = encodeURIComponent(role)
        url.password = encodeURIComponent(password)
        return url.href
      }
      const open = (role: string, password: string): Database => {
        const one = openDatabase({ url: addressOf(role, password), poolSize: 1, searchPath: 'public' })
        opened.push(one)
        return one
      }
      const connect = (outcome: LoginOutcome): Database => {
        if (outcome.kind !== 'ready') assert.fail(JSON.stringify(outcome))
        return open(outcome.login.role, outcome.login.password)
      }
      const describeRole = async (name: string) => {
        const [row] = await target.database.sql`
          select rolcanlogin as login, rolsuper or rolcreaterole or rolcreatedb or rolreplication or rolbypassrls as strong,
            rolinherit as inherits, array(select g.rolname::text from pg_auth_members m join pg_roles g on g.oid = m.roleid
              where m.member = r.oid order by 1) as "memberOf", shobj_description(oid, 'pg_authid') as comment, oid::int8 as oid
          from pg_roles r where rolname = ${name}`
        return row
      }
      const describeFormer = async (oid: number) => {
        const [row] = await run(`select rolname as name from pg_roles where oid = ${oid}`)
        if (row) assert.match(row.name, /^masquerade former login /)
        return row && describeRole(row.name)
      }
      const isOpen = async (one: Database): Promise<boolean> =>
        one.sql`select 1`.then(
          () => true,
          () => false,
        )
      const settled = async (expected: { changed?: number; ended?: number }) => {
        const { changed, ended, notes } = await directory.settle()
        assert.deepEqual(
          { ...(expected.changed !== undefined && { changed }), ended },
          { ended: 0, ...expected },
        )
        assert.equal((await directory.settle()).changed, 0, 'a second time there is nothing to do')
        return notes
      }
      /** Whether the role of the binding can undo what a superuser did. */
      const undoes = () => binding === 'a superuser' || version < 160000

      clause(
        'GATE-03',
        'The controller creates a login role at the first login of a user or service principal to…',
        async () => {
          const name = `ana@contoso.com/${database}`
          const ana = directory.add('Ana@contoso.com', [readers])
          await settled({ changed: 0 })
          assert.equal(await describeRole(name), undefined)
          const first = await directory.prepare(ana)
          const one = connect(first)
          assert.deepEqual(await one.sql`select session_user::text as name, email from public.person`, [
            { name, email: 'raw' },
          ])
          await assert.rejects(one.sql`insert into public.person values (2, 'x')`, /permission denied/)
          const { comment, oid, ...facts } = (await describeRole(name)) ?? {}
          assert.deepEqual(facts, { login: true, strong: false, inherits: true, memberOf: [readers] })
          const again = await directory.prepare(ana)
          assert.equal(again.kind === 'ready' && again.changed, false)
          assert.equal((await describeRole(name))?.oid, oid)
          // More roles come without another login.
          const two = connect(again)
          await two.sql`select 1`
          directory.set(ana, { roles: [readers, writers] })
          await settled({ changed: 1 })
          await two.sql`insert into public.person values (2, 'x')`
          assert.equal((await directory.prepare(directory.add('nobody@contoso.com', []))).kind, 'noRole')
        },
      )

      test('names that are long or reserved', async () => {
        for (const name of ['pg_monitor@contoso.com', `${'ä'.repeat(40)}@contoso.com`]) {
          const one = connect(await directory.prepare(directory.add(name, [readers])))
          assert.deepEqual(await one.sql`select count(*)::int as n from public.person where id = 1`, [
            { n: 1 },
          ])
        }
        await settled({ changed: 0 })
      })

      test('ten connections at once make one role, on two nodes too', async () => {
        const bob = directory.add('bob@contoso.com', [readers])
        const other = directory.createNode()
        const outcomes = await Promise.all(
          Array.from({ length: 10 }, (_, at) =>
            at % 2 === 0
              ? directory.prepare(bob, { reset: at === 4 })
              : other.prepare(session, directory.databaseId, bob, { reset: at === 5 }),
          ),
        )
        for (const outcome of outcomes) assert.equal(outcome.kind, 'ready')
        assert.ok(await isOpen(connect(await directory.prepare(bob))))
      })

      clause(
        'GATE-04',
        'A signed comment marks a login role. The controller never touches a role of that name…',
        async () => {
          const eve = directory.add('eve@contoso.com', [readers])
          const ana = directory.add('ana@contoso.com', [readers])
          connect(await directory.prepare(ana))
          const real = await describeRole(`ana@contoso.com/${database}`)
          // Made beforehand by somebody who may create roles, with every comment that can be copied or guessed.
          const name = `eve@contoso.com/${database}`
          await run(`create role "${name}" login password 'secret'`)
          const before = await describeRole(name)
          const unsigned = `masquerade login ${directory.databaseId} ${eve}`
          const foreign = writeMark(
            { databaseId: directory.databaseId, principalId: eve, ending: false },
            real?.oid,
            testKeys.sign,
          )
          const forged = writeMark(
            { databaseId: directory.databaseId, principalId: eve, ending: false },
            before?.oid,
            () => 'x',
          )
          for (const comment of [null, unsigned, `${unsigned} ending`, real?.comment, foreign, forged]) {
            await run(`comment on role "${name}" is ${comment === null ? 'null' : `'${comment}'`}`)
            assert.deepEqual(await directory.prepare(eve), { kind: 'nameTaken', role: name }, String(comment))
            const { logins } = await directory.settle()
            assert.deepEqual(
              logins.map((login) => login.name),
              [`ana@contoso.com/${database}`],
            )
            assert.deepEqual(await describeRole(name), { ...before, comment })
          }
          await run(`drop role "${name}"`)
          assert.equal((await directory.prepare(eve)).kind, 'ready')
          directory.remove(eve)

          // A new name: the same role.
          const session = connect(await directory.prepare(ana))
          assert.ok(await isOpen(session))
          const odd = `o'neil"%s{}\\--x@contoso.com`
          directory.set(ana, { name: odd })
          await directory.settle()
          const renamed = await describeRole(`${odd}/${database}`)
          assert.equal(renamed?.oid, real?.oid)
          assert.ok(await isOpen(session), 'a rename takes nothing away')
          assert.ok(await isOpen(connect(await directory.prepare(ana))))
          directory.remove(ana)
          await directory.settle()
          assert.equal(await describeRole(`${odd}/${database}`), undefined)
        },
      )

      test('two people who swap names, and somebody who gets the name of another who left', async () => {
        const [ana, bob] = [
          directory.add('ana@contoso.com', [readers]),
          directory.add('bob@contoso.com', [writers]),
        ]
        for (const each of [ana, bob]) connect(await directory.prepare(each))
        const [first, second] = [
          await describeRole(`ana@contoso.com/${database}`),
          await describeRole(`bob@contoso.com/${database}`),
        ]
        directory.set(ana, { name: 'bob@contoso.com' })
        directory.set(bob, { name: 'ana@contoso.com' })
        await directory.settle()
        assert.equal((await describeRole(`bob@contoso.com/${database}`))?.oid, first?.oid)
        assert.equal((await describeRole(`ana@contoso.com/${database}`))?.oid, second?.oid)
        assert.deepEqual((await describeRole(`ana@contoso.com/${database}`))?.memberOf, [writers])

        const keeper = connect(await directory.prepare(bob))
        await keeper.sql`create table public.left_behind (id int)`
        await keeper.close()
        directory.remove(bob)
        const next = directory.add('ana@contoso.com', [readers])
        const one = connect(await directory.prepare(next))
        assert.deepEqual(await one.sql`select count(*)::int as n from public.person where id = 1`, [{ n: 1 }])
        await assert.rejects(one.sql`select * from public.left_behind`, /permission denied/)
        await directory.settle()
        const left = await describeFormer(second?.oid)
        assert.deepEqual([left?.login, left?.memberOf], [false, []])
        await run('drop table public.left_behind')
        directory.clear()
        await directory.settle()
        assert.equal(await describeFormer(second?.oid), undefined)
      })

      clause(
        'GATE-05',
        'The password of a login role is derived from the key of the service, stored nowhere and…',
        async () => {
          const ana = directory.add('ana@contoso.com', [readers])
          const name = `ana@contoso.com/${database}`
          const outcome = await directory.prepare(ana)
          const one = connect(outcome)
          const minutesLeft = async () => {
            const [row] = await run(
              `select extract(epoch from rolvaliduntil - now())::float / 60 as left from pg_roles where rolname = '${name}'`,
            )
            return row?.left
          }
          assert.ok((await minutesLeft()) > 14 && (await minutesLeft()) <= 15)
          const [stored] = await run(
            `select rolpassword as verifier from pg_authid where rolname = '${name}'`,
          )
          assert.match(stored?.verifier, /^SCRAM-SHA-256\$4096:/)
          // Anybody may change the password of their own role, but not how long it counts.
          await one.sql.unsafe(`alter role current_user password 'my own'`)
          await assert.rejects(
            one.sql.unsafe(`alter role current_user valid until 'infinity'`),
            /permission denied|must have/,
          )
          assert.equal(await isOpen(open(name, 'my own')), true)
          assert.equal(await isOpen(connect(outcome)), false)
          assert.equal(await isOpen(connect(await directory.prepare(ana, { reset: true }))), true)
          assert.equal(await isOpen(open(name, 'my own')), false)
          await run(
            `alter role "${name}" password 'my own' valid until '${new Date(Date.now() - 1000).toISOString()}'`,
          )
          assert.equal(await isOpen(open(name, 'my own')), false)
          const elsewhere = new URL(addressOf(name, 'elsewhere'))
          elsewhere.pathname = '/postgres'
          const until = new Date(Date.now() + 60_000).toISOString()
          await run(`alter role "${name}" password 'elsewhere' valid until '${until}'`)
          const stray = openDatabase({ url: elsewhere.href, poolSize: 1 })
          opened.push(stray)
          const [{ pid } = {}] = await stray.sql`select pg_backend_pid() as pid`
          await settled({ ended: 1 })
          const isOver = async () => !(await run(`select 1 from pg_stat_activity where pid = ${pid}`)).length
          await waitUntil('the end of the session', isOver)
          const late = await directory.prepare(ana)
          assert.equal(late.kind === 'ready' && late.changed, false, 'a new password is no new right')
          assert.equal(await isOpen(connect(late)), true)
          assert.ok((await minutesLeft()) > 14)
        },
      )

      clause(
        'GATE-197',
        'A login whose password is set while the secret key is replaced gets a password and a verifier of one key…',
        async () => {
          let key = 0
          const derive = () => derivePassword(`password of key ${key}`, Buffer.alloc(16, key))
          const node = directory.createNode(async () => void key++, { ...testKeys, derive })
          const ana = directory.add('ana', [readers])
          const outcome = await node.prepare(session, directory.databaseId, ana)
          assert.ok(key > 1, 'the key was replaced meanwhile')
          assert.equal(await isOpen(connect(outcome)), true)
        },
      )

      clause(
        'GATE-06',
        'A principal that loses a mapping, the mapped group or the account loses the database role…',
        async () => {
          const name = `ana@contoso.com/${database}`
          const ana = directory.add('ana@contoso.com', [readers, writers])
          const one = connect(await directory.prepare(ana))
          const cursor = connect(await directory.prepare(ana))
          let isHeld: (() => void) | undefined
          const held = new Promise<void>((resolve) => {
            isHeld = resolve
          })
          const reading = cursor.transaction(async (tx) => {
            await tx`declare c cursor for select email from public.person`
            isHeld?.()
            for (;;) await tx`fetch 1 from c`
          })
          reading.catch(() => {})
          await held
          await one.sql`create temp table own_data (id int)`
          directory.set(ana, { roles: [writers] })
          await settled({ changed: 1, ended: 2 })
          await assert.rejects(reading)
          const two = connect(await directory.prepare(ana))
          await two.sql`insert into public.person values (3, 'x')`
          await assert.rejects(two.sql`select email from public.person`, /permission denied/)
          await two.sql`create table public.own_data (id int)`

          directory.remove(ana)
          await settled({ ended: 1 })
          assert.deepEqual(await directory.prepare(ana), { kind: 'noRole' })
          const { login, memberOf } = (await describeRole(name)) ?? {}
          assert.deepEqual([login, memberOf], [false, []])
          await run('drop table public.own_data')
          await settled({ changed: 0 })
          assert.equal(await describeRole(name), undefined)
        },
      )

      test('sessions that could not be ended are ended later', async () => {
        const ana = directory.add('ana@contoso.com', [readers])
        const name = `ana@contoso.com/${database}`
        const one = connect(await directory.prepare(ana))
        await one.sql`select 1`
        // As a node leaves it that dies after the change and before the end of the sessions.
        const { oid } = (await describeRole(name)) ?? {}
        const owner = { databaseId: directory.databaseId, principalId: ana }
        await run(
          `comment on role "${name}" is '${writeMark({ ...owner, ending: true }, oid, testKeys.sign)}'`,
        )
        await settled({ changed: 0, ended: 1 })
        assert.equal(
          (await describeRole(name))?.comment,
          writeMark({ ...owner, ending: false }, oid, testKeys.sign),
        )
      })

      test('an open transaction that changes its own role does not hold up the loss of it', async () => {
        const ana = directory.add('ana@contoso.com', [readers])
        const one = connect(await directory.prepare(ana))
        let isHeld: (() => void) | undefined
        const held = new Promise<void>((resolve) => {
          isHeld = resolve
        })
        const holding = one.transaction(async (tx) => {
          await tx.unsafe(`alter role current_user password 'x'`)
          isHeld?.()
          await tx`select pg_sleep(120)`
        })
        holding.catch(() => {})
        await held
        directory.remove(ana)
        const from = Date.now()
        await directory.settle()
        assert.ok(Date.now() - from < promised(5_000))
        await assert.rejects(holding)
        assert.equal(await describeRole(`ana@contoso.com/${database}`), undefined)
      })

      clause(
        'GATE-07',
        'The controller revokes roles, attributes and members that were granted to a login role by…',
        async () => {
          const ana = directory.add('ana@contoso.com', [readers])
          const name = `ana@contoso.com/${database}`
          const friend = await target.createRole('friend')
          const hand: [grant: string, undo: string, ends: boolean][] = [
            [`grant "${writers}" to "${name}"`, `revoke "${writers}" from "${name}"`, true],
            [`grant pg_read_all_data to "${name}"`, `revoke pg_read_all_data from "${name}"`, true],
            [
              `alter role "${name}" createrole createdb`,
              `alter role "${name}" nocreaterole nocreatedb`,
              true,
            ],
            [`alter role "${name}" bypassrls`, `alter role "${name}" nobypassrls`, true],
            [`grant "${name}" to "${friend}"`, `revoke "${name}" from "${friend}"`, false],
          ]
          for (const [given, undo, ends] of hand) {
            const one = connect(await directory.prepare(ana))
            await one.sql`select 1`
            await run(given)
            const { notes, ended } = await directory.settle()
            const after = await describeRole(name)
            const isUndone =
              after?.memberOf.join() === readers && !after?.strong && (await membersOf(name)).length === 0
            if (undoes() && !(given.includes('bypass') && binding !== 'a superuser'))
              assert.ok(isUndone, given)
            if (isUndone) {
              assert.equal(ended, ends ? 1 : 0, given)
              assert.deepEqual(notes, [], given)
              assert.ok(await isOpen(connect(await directory.prepare(ana))), given)
              await endSessions(name)
              continue
            }
            assert.equal(after?.login, false, given)
            assert.equal(ended, 1, given)
            assert.deepEqual(
              notes.map(({ code, target: of }) => [code, of]),
              [['LoginRole', name]],
            )
            assert.deepEqual(await directory.prepare(ana), { kind: 'blocked', role: name }, given)
            await run(undo)
            assert.ok(
              await isOpen(connect(await directory.prepare(ana))),
              'it is put right when that is gone',
            )
            await endSessions(name)
          }
          // Only a superuser can change a role that is a superuser; but the gateway refuses its logins.
          await run(`alter role "${name}" superuser`)
          if (binding !== 'a superuser') {
            assert.deepEqual(await directory.prepare(ana), { kind: 'blocked', role: name })
            await run(`alter role "${name}" nosuperuser`)
          }
          assert.equal((await directory.prepare(ana)).kind, 'ready')
          assert.equal((await describeRole(name))?.strong, false)
        },
      )

      /** A session that was told to end is listed until it has, and would be counted with the next ones. */
      const endSessions = (name: string) =>
        waitUntil('the end of the sessions', async () => {
          const open = await run(
            `select pg_terminate_backend(pid) from pg_stat_activity where usename = '${name}'`,
          )
          return open.length === 0
        })
      const membersOf = async (name: string) =>
        await run(`select 1 from pg_auth_members m join pg_roles r on r.oid = m.roleid join pg_roles e on e.oid = m.member
          where r.rolname = '${name}' and e.rolname <> '${binder}'`)

      clause(
        'GATE-08',
        'A mapped role that later becomes one that could not be mapped (GATE-25) is revoked from…',
        async () => {
          const team = await target.createRole('team', '')
          await adopt(team)
          const ana = directory.add('ana@contoso.com', [readers, team])
          const name = `ana@contoso.com/${database}`
          for (const [harm, undo] of [
            [`grant pg_read_all_data to "${team}"`, `revoke pg_read_all_data from "${team}"`],
            [`alter role "${team}" login`, `alter role "${team}" nologin`],
            [`alter role "${team}" bypassrls`, `alter role "${team}" nobypassrls`],
            [`alter role "${team}" superuser`, `alter role "${team}" nosuperuser`],
          ]) {
            const one = connect(await directory.prepare(ana))
            await one.sql`select 1`
            assert.deepEqual((await describeRole(name))?.memberOf, [readers, team].sort())
            await run(String(harm))
            const { notes, ended } = await directory.settle()
            // Before 16 nobody but a superuser gives and takes a superuser: then nobody logs in.
            const after = await describeRole(name)
            if (after?.login) assert.deepEqual(after.memberOf, [readers], harm)
            else assert.ok(harm?.includes('superuser') && binding !== 'a superuser', harm)
            assert.equal(ended, 1)
            assert.ok(notes.some(({ code, target: of }) => code === 'MappedRole' && of === team))
            await run(String(undo))
          }
          connect(await directory.prepare(ana))
          await run(`drop role "${team}"`)
          const { notes } = await directory.settle()
          assert.deepEqual(
            notes.map(({ code, target: of }) => [code, of]),
            [['MappedRole', team]],
          )
          assert.deepEqual((await describeRole(name))?.memberOf, [readers])
        },
      )

      test('login roles of another database of the server are not ours', async () => {
        const ana = directory.add('ana@contoso.com', [readers])
        await directory.prepare(ana)
        const other = createLogins([directory.databaseId])
        assert.deepEqual((await other.settle()).changed, 0)
        const same = other.add('ana@contoso.com', [readers])
        assert.equal((await other.prepare(same)).kind, 'nameTaken')
        assert.ok((await describeRole(`ana@contoso.com/${database}`))?.login)
      })

      test('login roles of a database that is not bound any more are taken over', async () => {
        const name = `ana@contoso.com/${database}`
        const ana = directory.add('ana@contoso.com', [readers, writers])
        const one = connect(await directory.prepare(ana))
        await one.sql`select 1`
        const before = await describeRole(name)
        const next = createLogins()
        const outcome = await next.prepare(next.add('ana@contoso.com', [readers]))
        assert.ok(await isOpen(connect(outcome)))
        const after = await describeRole(name)
        assert.notEqual(after?.oid, before?.oid, 'of another person, so a role of its own')
        assert.deepEqual(after?.memberOf, [readers])
        const former = await describeFormer(before?.oid)
        assert.deepEqual([former?.login, former?.memberOf], [false, []])
        next.clear()
        await next.settle()
        assert.equal(await describeRole(name), undefined)
        assert.equal(await describeFormer(before?.oid), undefined)

        await directory.prepare(ana)
        const again = createLogins()
        again.add('ana@contoso.com', [writers], ana)
        assert.ok(await isOpen(connect(await again.prepare(ana))), 'the same person keeps the role')
        assert.deepEqual((await describeRole(name))?.memberOf, [writers])
        again.clear()
        await again.settle()
      })

      /** A node that looks twice at what people have, with this between its looks. */
      const createSlowNode = (meanwhile: () => Promise<unknown>) => {
        let reads = 0
        return directory.createNode(async () => {
          reads++
          if (reads === 2) await meanwhile()
        })
      }
      /** A reader who becomes a writer, which no node knows yet. */
      const addWriter = async () => {
        const ana = directory.add('ana@contoso.com', [readers])
        await directory.prepare(ana)
        directory.set(ana, { roles: [readers, writers] })
        return ana
      }

      test('a node that acted on old news corrects it', async () => {
        const name = `ana@contoso.com/${database}`
        const ana = await addWriter()
        const slow = createSlowNode(async () => {
          // The other node is told that the role is taken away, and finds nothing to do yet.
          directory.set(ana, { roles: [readers] })
          assert.equal((await directory.settle()).changed, 0)
        })
        const { changed } = await slow.settle(session, directory.databaseId)
        assert.equal(changed, 2)
        assert.deepEqual((await describeRole(name))?.memberOf, [readers])
      })

      // It takes five seconds, and is the same with every binding.
      if (binding === 'a superuser')
        test('a node that is held up for longer than its transaction may be idle begins again', async () => {
          await addWriter()
          const slow = createSlowNode(() => run('select pg_sleep(5)'))
          assert.equal((await slow.settle(session, directory.databaseId)).changed, 1)
          const role = await describeRole(`ana@contoso.com/${database}`)
          assert.deepEqual(role?.memberOf, [readers, writers].sort())
        })

      test('who loses everything while they log in does not get in', async () => {
        const ana = directory.add('ana@contoso.com', [readers])
        const slow = createSlowNode(async () => directory.remove(ana))
        assert.deepEqual(await slow.prepare(session, directory.databaseId, ana), { kind: 'noRole' })
        const left = await describeRole(`ana@contoso.com/${database}`)
        assert.deepEqual([left?.login, left?.memberOf], [false, []])
      })

      test('nothing is left behind', async () => {
        assert.deepEqual(await run(`select rolname from pg_roles where rolname like '%/${database}'`), [])
      })
    })
})
