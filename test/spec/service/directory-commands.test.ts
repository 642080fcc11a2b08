import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { clause } from '../../support/clause.ts'
import { fillDirectory } from '../../support/directory.ts'
import { addApplication, addPerson } from '../../support/issuer.ts'
import { runHere, settleIn } from '../../support/run-here.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { waitUntil } from '../../support/wait-until.ts'

describe('the commands about users, groups, roles and the audit', () => {
  let service: TestService
  let environment: Record<string, string>

  before(async () => {
    service = await startTestService()
    environment = await settleIn(service)
  })
  after(() => service[Symbol.asyncDispose]())

  /** As the administrator of the installation. */
  const attempt = (args: readonly string[], input = '') =>
    runHere([...args, '--url', service.origin, '--admin'], { environment, input })
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await attempt(args)
    assert.equal(code, 0, `${args.join(' ')}: ${stderr}`)
    return stdout
  }
  const json = async (...args: string[]) => JSON.parse(await run(...args, '--json'))
  const uniqueName = (prefix: string) => `${prefix}-${randomUUID().slice(0, 8)}`

  clause(
    'DIR-386',
    'A name that a command finds a group by counts every group that has it by the folding of `group:NAME` (MASK-140): …',
    async () => {
      const directory = fillDirectory(service)
      const mark = uniqueName('team')
      const names = [
        [`${mark} Straße`, `${mark} strasse`],
        [`${mark} İstanbul`, `${mark} istanbul`],
        [`${mark} Ærø ΔΙΟΣ`, `${mark} ærø διος`],
      ] as const
      for (const [meant, namesake] of names) {
        const id = await directory.group({ displayName: meant })
        const other = await directory.group({ displayName: namesake })
        const person = await directory.user()
        for (const word of [meant, namesake, namesake.toUpperCase()])
          for (const command of [
            ['group', 'members', 'add', word, person],
            ['role', 'assign', 'Reader', word, '--scope', '/'],
          ]) {
            const { code, stderr } = await attempt(command)
            assert.notEqual(code, 0, `${command.join(' ')}: ${stderr}`)
            assert.match(stderr, new RegExp(`Several groups.*${[id, other].toSorted().join('.*')}`, 's'))
          }
        assert.deepEqual(await directory.directMembers(other), [])
        await directory.softDelete(other)
        assert.equal((await json('group', 'show', namesake)).id, id, 'the only group of the name')
      }
    },
  )

  test('a group is found by its name among more groups than a page has', async () => {
    const { sql } = service.database
    const displayName = uniqueName('late')
    const directory = fillDirectory(service)
    await sql`
      insert into directory_object (tenant_id, id, kind, properties)
      select ${service.tenantId}, gen_random_uuid(), 'group', jsonb_build_object('displayName', 'One of many', 'mailNickname', n::text)
      from generate_series(1, 2500) as n`
    const ids = [
      await directory.group({ displayName }),
      await directory.group({ displayName: displayName.toUpperCase() }),
    ]
    const { code, stderr } = await attempt(['group', 'show', displayName])
    assert.notEqual(code, 0)
    for (const id of ids) assert.ok(stderr.includes(id), stderr)
    await sql`delete from directory_object where display_name = 'One of many'`
  })

  clause(
    'SVC-43',
    'No command writes a control character of a name, value or message to its output, and a name in a list takes one line. …',
    async () => {
      const directory = fillDirectory(service)
      const mark = uniqueName('odd')
      const odd = `${mark}\x1b[2J\x07\x9b31m\rover\nfake row`
      const user = await directory.user(mark)
      const group = await directory.group({ displayName: odd, description: odd })
      await directory.join(user, group)
      const { sql } = service.database
      await sql`update directory_object set properties = properties || ${sql.json({ displayName: odd, jobTitle: odd })}::jsonb
        where id = ${user}`
      const { applicationId, servicePrincipalId } = await addApplication(service)
      await sql`update directory_object set properties = properties || ${sql.json({ displayName: odd })}::jsonb
        where id = any(${[applicationId, servicePrincipalId]}::uuid[])`
      await directory.join(servicePrincipalId, group)
      await run('user', 'set', user, '--set', 'department=Sales')
      await run('role', 'assign', 'Reader', user, '--scope', '/')
      const commands = [
        ['user', 'list', '--search', mark],
        ['user', 'show', user],
        ['group', 'list', '--search', mark],
        ['group', 'show', group],
        ['group', 'members', 'list', group],
        ['role', 'show', 'Reader', '--scope', '/'],
        ['audit', '--since', '10m'],
      ]
      const outputs = await Promise.all(commands.flatMap((args) => [run(...args), run(...args, '--json')]))
      for (const args of [[], ['--json']])
        outputs.push((await runHere(['application', 'list', ...args], { environment })).stdout)
      const missing = await attempt(['group', 'show', odd.slice(0, 30)])
      assert.equal(missing.code, 5, missing.stderr)
      for (const [at, text] of [...outputs, missing.stderr].entries()) {
        // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
        assert.equal(/[\0-\x08\x0b-\x1f\x7f-\x9f]/.test(text), false, `${at}: ${JSON.stringify(text)}`)
        assert.equal(/^fake row/m.test(text), false, `${at}: ${text}`)
      }
      assert.ok(outputs.filter((text) => text.includes(mark)).length >= 12, 'the names are there')
    },
  )

  async function addUser(): Promise<string> {
    const name = `${uniqueName('ana')}@example.com`
    await run('user', 'add', name, '--name', 'Ana', '--invite')
    return name
  }

  clause(
    'SVC-09',
    '`masquerade user`, `group` and `role` list, show, add, change and remove over the public APIs. …',
    async () => {
      const name = await addUser()
      const [listed] = await json('user', 'list', '--search', name)
      assert.equal(listed.userPrincipalName, name)
      await run('user', 'set', name, '--set', 'department=Sales', '--set', 'jobTitle=Clerk')
      assert.equal(await run('user', 'disable', name), `${name} is disabled.\n`)
      assert.deepEqual(
        (await json('user', 'list', '--disabled', '--search', name)).map((one: { id: string }) => one.id),
        [listed.id],
      )
      assert.equal(await run('user', 'enable', name), `${name} is enabled.\n`)

      const sales = uniqueName("Sales' readers")
      await run('group', 'add', sales, '--description', 'Read only')
      assert.equal(
        await run('group', 'members', 'add', sales, name),
        `${name} is now a member of ${sales}.\n`,
      )
      assert.equal(
        await run('group', 'members', 'add', sales, name),
        `${name} was already a member of ${sales}.\n`,
      )
      assert.match(
        await run('group', 'members', 'list', sales),
        new RegExp(`^${name} +user +${listed.id}$`, 'm'),
      )
      await run('group', 'owners', 'add', sales, listed.id)
      assert.deepEqual((await json('group', 'show', sales)).owners, [name])

      assert.equal(
        await run('role', 'assign', 'user administrator', name),
        `${name} holds User Administrator now.\n`,
      )
      assert.equal(
        await run('role', 'assign', 'User Administrator', name),
        `${name} held User Administrator already.\n`,
      )
      assert.match(await run('role', 'show', 'User Administrator'), new RegExp(`^${name} `, 'm'))
      await run('role', 'assign', 'Reader', sales, '--scope', 'sub-1/group-1/main/shop')
      const [reader] = await json('role', 'show', 'reader', '--scope', 'sub-1/group-1/main/shop')
      assert.equal(reader.principal, sales)
      assert.match(
        await run('role', 'unassign', 'Reader', sales, '--scope', 'SUB-1/group-1/main/shop'),
        /no longer holds/,
      )
      assert.match(
        await run('role', 'unassign', 'Reader', sales, '--scope', 'sub-1/group-1/main/shop'),
        /did not hold/,
      )

      const shown = await json('user', 'show', listed.id)
      assert.deepEqual(
        [shown.department, shown.groups, shown.roles],
        ['Sales', [sales], ['User Administrator']],
      )
      await run('role', 'unassign', 'User Administrator', name)
      assert.equal(
        await run('group', 'members', 'remove', sales, name),
        `${name} is no longer a member of ${sales}.\n`,
      )
      assert.equal(
        await run('group', 'members', 'remove', sales, name),
        `${name} was not a member of ${sales}.\n`,
      )
      assert.match(await run('user', 'remove', name), new RegExp(`masquerade user restore ${listed.id}`))
      assert.equal((await attempt(['user', 'show', name])).code, 5)
      assert.equal(await run('user', 'restore', listed.id), `${name} is back.\n`)
      await run('group', 'remove', sales)
      assert.equal((await attempt(['group', 'show', sales])).code, 5)
    },
  )

  clause(
    'SVC-10',
    'Commands ask for a password on a terminal and read it from the standard input elsewhere; no command takes one as an argument.',
    async () => {
      const name = `${uniqueName('bo')}@example.com`
      const added = await attempt(['user', 'add', name, '--must-change'], 'correct horse battery staple\n')
      assert.equal(added.code, 0, added.stderr)
      assert.ok(!added.stdout.includes('horse'))
      const [row] = await service.database.sql<{ must_change: boolean }[]>`
        select must_change from user_password join directory_object o on o.id = user_id where user_principal_name = ${name}`
      assert.equal(row?.must_change, true)
      const weak = await attempt(['user', 'set-password', name], 'short\n')
      assert.equal(weak.code, 1)
      const none = await attempt(['user', 'set-password', name])
      assert.equal(none.code, 2)
      const set = await attempt(['user', 'set-password', name], 'another long enough one\nignored\n')
      assert.equal(set.code, 0, set.stderr)
      const argument = await attempt(['user', 'set', name, '--set', 'passwordProfile={"password":"x"}'])
      assert.equal(argument.code, 2)
      assert.match(argument.stderr, /set-password/)
    },
  )

  clause(
    'DIR-280',
    '`POST /users/{id}/invite` replaces the password of a user by an invitation: a password that the answer alone shows, …',
    async () => {
      const person = await addPerson(service)
      const shown = await json('user', 'set-password', person.userPrincipalName, '--invite', '--hours', '2')
      assert.match(shown.password, /^(\w{4}-){4}\w{4}$/)
      const ends = Date.parse(shown.expirationDateTime) - Date.now()
      assert.ok(ends > 7_100_000 && ends <= 7_200_000)
      const { sql } = service.database
      const read = () => sql<{ must_change: boolean; expires_at: Date | null }[]>`
        select must_change, expires_at from user_password where user_id = ${person.id}`
      assert.deepEqual((await read())[0], {
        must_change: true,
        expires_at: new Date(shown.expirationDateTime),
      })
      const { findActiveUser } = await import('../../../src/directory/accounts/find-active-user.ts')
      assert.ok((await findActiveUser(sql, service.tenantId, { id: person.id }))?.passwordHash)
      await sql`update user_password set expires_at = now() - interval '1 second' where user_id = ${person.id}`
      const expired = await findActiveUser(sql, service.tenantId, { id: person.id })
      assert.equal(expired?.passwordHash, undefined)
      assert.ok(expired?.passwordChangedAt, 'sign-ins from before the invitation stay over')
      const audited = await sql`select after::text from audit_event where action = 'invite user'`
      assert.ok(!JSON.stringify(audited).includes(shown.password))

      const invite = (token: string, body: unknown = {}) =>
        service.request('POST', `/v1.0/users/${person.id}/invite`, { token, body })
      const weak = service.tokenFor({ kind: 'application', permissions: ['User.ReadWrite.All'] })
      assert.equal((await invite(weak)).status, 403)
      const strong = service.tokenFor({
        kind: 'application',
        permissions: ['User.ReadWrite.All', 'Directory.ReadWrite.All'],
      })
      assert.equal((await invite(strong, { lifetimeInHours: 721 })).status, 400)
      assert.equal((await invite(strong)).status, 200)
    },
  )

  clause(
    'SVC-11',
    '`masquerade audit` lists entries of the directory and of masking that the caller may read, the oldest first, since a time, by actor and by text; …',
    async () => {
      const since = new Date().toISOString()
      const name = await addUser()
      await run('role', 'assign', 'Reader', name, '--scope', 'sub-9')
      const audit = (...args: string[]) => run('audit', '--since', since, ...args)
      const lines = (await audit()).trim().split('\n')
      const [made, given] = [/Create user/, /roleAssignments\/write/].map((what) =>
        lines.findIndex((line) => what.test(line)),
      ) as [number, number]
      assert.ok(made >= 0 && given > made, 'the oldest first')
      assert.match(lines[made] ?? '', /^\d{4}-.*Z {2}admin@\S+ +Create user +User /)
      assert.ok(lines[made]?.endsWith(name), lines[made])
      const entries = (await audit('--json', '--what', 'INVITE')).trim().split('\n')
      assert.deepEqual(
        entries.map((line) => JSON.parse(line).action),
        ['Invite user'],
      )
      assert.equal(await audit('--who', name), 'Nothing was changed in this time.\n')
      assert.equal((await audit('-n', '1')).trim().split('\n').length, 1)
      assert.equal((await attempt(['audit', '--since', 'yesterday'])).code, 2)

      const stop = new AbortController()
      let seen = ''
      const following = runHere(['audit', '--since', since, '--follow', '--url', service.origin, '--admin'], {
        environment,
        stop: stop.signal,
        onOutput: (stdout) => {
          seen = stdout
        },
      })
      await waitUntil('the entries so far', () => seen.includes('Create user'))
      const group = uniqueName('followed')
      await run('group', 'add', group)
      await waitUntil('the new entry', () => seen.includes(group))
      stop.abort()
      assert.equal((await following).code, 0)
      assert.equal(seen.split('Invite user').length, 2, 'no entry is printed twice')
    },
  )

  test('a caller who may not is told so: exit code 6', async () => {
    const token = service.tokenFor({ kind: 'application', permissions: ['User.Read.All'] })
    const denied = await runHere(['group', 'list', '--url', service.origin, '--token', token], {
      environment,
    })
    assert.equal(denied.code, 6)
    assert.match(denied.stderr, /^masquerade: [^\n]+\n$/)
  })

  clause(
    'SVC-14',
    'An unknown command, verb or option is refused with the nearest one that there is. An empty list says so, and a command that looks into a database says that it is not bound.',
    async () => {
      const wrong: [string[], RegExp][] = [
        [['usr', 'list'], /There is no command 'usr': did you mean 'user'\?/],
        [['user', 'lst'], /There is no 'lst': did you mean 'list'\?/],
        [['group', 'members', 'ad', 'x'], /did you mean 'members add'\?/],
        [['group', 'members'], /did you mean 'members list'\?/],
        [['user', 'list', '--serch', 'x'], /'--serch'.*did you mean '--search'\?/],
        [['user', 'show'], /Name one user/],
        [['role', 'assign', 'Owner'], /Name one role, then one principal/],
      ]
      for (const [args, expected] of wrong) {
        const { code, stderr } = await runHere(args, { environment })
        assert.equal(code, 2, args.join(' '))
        assert.match(stderr, expected)
        assert.match(stderr, /^masquerade: [^\n]+\n$/)
      }
      assert.equal(await run('user', 'list', '--search', 'nobody at all'), 'There is no such user.\n')
      const group = uniqueName('empty')
      await run('group', 'add', group)
      assert.equal(await run('group', 'members', 'list', group), `${group} has no members.\n`)
      const rules = await attempt(['rules', 'list', '-d', 'a/b/c/d'])
      assert.deepEqual(
        [rules.code, rules.stdout, rules.stderr],
        [0, 'There is no rule.\n', 'a/b/c/d is not bound to a PostgreSQL.\n'],
      )
      for (const name of ['recommendations', 'exposures']) {
        const { code, stdout, stderr } = await attempt([name, '-d', 'a/b/c/d'])
        assert.deepEqual([code, stdout], [5, ''])
        assert.match(stderr, /^masquerade: a\/b\/c\/d is not bound to a PostgreSQL, so nothing was looked at/)
      }
      assert.equal(await run('mapping', 'list', '-d', 'a/b/c/d'), 'There is no mapping.\n')
      const role = await attempt(['role', 'show', 'Globl Administrator'])
      assert.deepEqual([role.code, /Did you mean 'Global Administrator'/.test(role.stderr)], [5, true])
    },
  )
})
