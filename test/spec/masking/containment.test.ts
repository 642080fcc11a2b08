import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe } from 'node:test'
import { useBoundDatabase } from '../../support/bound-database.ts'
import { clause } from '../../support/clause.ts'
import { emailRule, freshDatabase, policyUrl } from '../../support/masking.ts'
import { runHere, settleIn } from '../../support/run-here.ts'
import { waitUntil } from '../../support/wait-until.ts'

interface Entry {
  readonly role: string
  readonly canLogIn: boolean
  readonly verdict: string
  readonly reasons: readonly { kind: string; text: string; statement: string; via: string | null }[]
}

describe('roles that masks do not contain', () => {
  const { masking, db, bound } = useBoundDatabase()
  const url = (query = '') => `${policyUrl(db)}/containment?api-version=2026-11-01${query}`
  const run = (text: string) => bound().database.sql.unsafe(text)
  const listAll = async (query = ''): Promise<Entry[]> => {
    const found: Entry[] = []
    for (let next: string | undefined = url(query); next; ) {
      const { status, body, text } = await masking.send('GET', next)
      assert.equal(status, 200, text)
      found.push(...body.value)
      next = body.nextLink?.replace(masking.service().origin, '')
    }
    return found
  }

  clause(
    'MASK-280',
    '`GET {db}/dataMaskingPolicies/Default/containment` says of each database role with a verdict (ENF-540) whether masks contain it…',
    async () => {
      const copier = await bound().createRole('copier', 'LOGIN REPLICATION')
      const found = await listAll()
      const of = (role: string) => found.find((one) => one.role === role)
      const analyst = bound().role('analyst')
      assert.deepEqual(of(analyst), { role: analyst, canLogIn: true, verdict: 'Contained', reasons: [] })
      const statement = `ALTER ROLE "${copier}" NOREPLICATION`
      const text = 'has REPLICATION, and can copy the whole server'
      assert.deepEqual(of(copier), {
        role: copier,
        canLogIn: true,
        verdict: 'NotContained',
        reasons: [{ kind: 'attribute', text, statement, via: null }],
      })
      await run(statement)
      assert.equal((await listAll()).find((one) => one.role === copier)?.verdict, 'Contained')

      const unbound = await masking.send('GET', `${policyUrl(freshDatabase())}/containment`)
      assert.deepEqual([unbound.status, unbound.body], [200, { value: [], notContained: 0 }])
    },
  )

  clause(
    'ENF-571',
    'A login role of another database that is a member of an exempt role has the reason `membership` with the statement…',
    async () => {
      const [auditors, seniors, guest] = await Promise.all([
        bound().createRole('auditors', 'NOLOGIN'),
        bound().createRole('seniors', 'NOLOGIN'),
        bound().createRole('guest'),
      ])
      await run(`grant "${auditors}" to "${seniors}"; grant "${seniors}" to "${guest}";
        comment on role "${guest}" is 'masquerade login ${randomUUID()} ${randomUUID()} signature'`)
      const exempted = { dataMaskingState: 'Enabled', exemptPrincipals: auditors }
      const put = await masking.putPolicy(db, exempted)
      assert.equal(put.headers.get('x-masquerade-enforcement'), 'Enforced')
      const found = await listAll()
      assert.equal(
        found.find(({ role }) => role === seniors),
        undefined,
        'other members are exempt',
      )
      const { verdict, reasons } = found.find(({ role }) => role === guest) ?? {}
      assert.equal(verdict, 'NotContained')
      const [{ kind, text, statement } = {}, ...more] = reasons ?? []
      assert.deepEqual([kind, more], ['membership', []])
      assert.equal(text, `can become, or give itself, ${seniors}, which the policy exempts`)
      await run(statement ?? '')
      assert.equal((await listAll()).find(({ role }) => role === guest)?.verdict, 'Contained')
      await masking.putPolicy(db, { dataMaskingState: 'Enabled' })
    },
  )

  clause('MASK-281', 'Containment lists roles that can log in first, by name, in pages of 500…', async () => {
    const many = bound().role('many')
    await bound().createRole('owner', 'NOLOGIN')
    await run(`alter table public.person owner to "${bound().role('owner')}";
        do 'begin for at in 1..501 loop execute format(''create role %I'', ''${many}'' || at); end loop; end'`)
    try {
      const first = await masking.send('GET', url())
      assert.equal(first.body.value.length, 500)
      const found = await listAll()
      const names = found.map(({ role }) => role)
      assert.deepEqual(names, [...new Set(names)])
      assert.equal(names.filter((name) => name.startsWith(many)).length, 501)
      const order = found.map(({ canLogIn, role }) => `${canLogIn ? 0 : 1} ${role}`)
      assert.ok(order.every((one, at) => at === 0 || one > (order[at - 1] ?? '')))
      const open = await listAll('&verdict=NotContained')
      assert.ok(open.every(({ verdict }) => verdict === 'NotContained'))
      assert.ok(open.some(({ role }) => role === bound().role('owner')))
      const contained = await listAll('&verdict=Contained')
      assert.ok(contained.length >= 501 && contained.every(({ verdict }) => verdict === 'Contained'))
      assert.equal((await masking.send('GET', url('&verdict=Else'))).status, 400)
      assert.ok(first.body.notContained >= 1)
    } finally {
      await run(`alter table public.person owner to current_user;
          do 'begin for at in 1..501 loop execute format(''drop role %I'', ''${many}'' || at); end loop; end'`)
    }
  })

  clause(
    'MASK-282',
    'A mapping to a role that the stored rules would leave not contained, whatever the state of the policy, is 409…',
    async () => {
      const trigger = await bound().createRole('trigger', 'NOLOGIN')
      const reader = await bound().createRole('reader', 'NOLOGIN')
      // The turn that masks a table revokes TRIGGER there by itself.
      await run(`create table public.aside (id int); grant trigger on public.aside to "${trigger}"`)
      const map = (databaseRole: string) => {
        const principalId = masking.service().tokens.shared.user
        return masking.send('PUT', `${db}/roleMappings/m`, { properties: { databaseRole, principalId } })
      }
      for (const dataMaskingState of ['Enabled', 'Disabled']) {
        await masking.putPolicy(db, { dataMaskingState })
        const { status, body } = await map(trigger)
        assert.deepEqual([status, body.error.code], [409, 'RolesNotContained'])
        const statement = `REVOKE TRIGGER ON TABLE public.aside FROM "${trigger}" CASCADE`
        const text = 'has TRIGGER on relations of roles that see raw values: public.aside'
        const message = `'${trigger}' ${text}. Run: ${statement};`
        assert.deepEqual(body.error.details, [{ code: 'privilege', message, target: trigger }])
        assert.ok(body.error.message.includes(message))
      }
      await run(`grant trigger, references on public.person to "${reader}"`)
      assert.equal((await map(reader)).status, 201)
      assert.equal((await masking.send('DELETE', `${db}/roleMappings/m`)).status, 200)
      await masking.putPolicy(db, { dataMaskingState: 'Enabled', exemptPrincipals: trigger })
      assert.equal((await map(trigger)).status, 201)
      await masking.send('DELETE', `${db}/roleMappings/m`)
      await masking.putPolicy(db, { dataMaskingState: 'Enabled' })
      await run(`revoke trigger on public.aside from "${trigger}"`)
    },
  )

  clause(
    'MASK-283',
    'A database that cannot be looked into stops no mapping, and a mapping stays when its role is not contained later…',
    async () => {
      const later = await bound().createRole('later', 'NOLOGIN')
      const principalId = masking.service().tokens.shared.user
      const path = `${db}/roleMappings/later`
      const put = await masking.send('PUT', path, { properties: { databaseRole: later, principalId } })
      assert.equal(put.status, 201, put.text)
      const person = await bound().createRole('login', `LOGIN IN ROLE "${later}"`)
      await run(
        `comment on role "${person}" is 'masquerade login 1 2'; create table public.beside (id int);
          grant trigger on public.beside to "${later}"`,
      )
      const open = (await listAll('&verdict=NotContained')).filter(({ role }) =>
        [later, person].includes(role),
      )
      const statement = `REVOKE TRIGGER ON TABLE public.beside FROM "${later}" CASCADE`
      assert.deepEqual(
        open.map(({ role, reasons: [reason] }) => [role, reason?.statement, reason?.via]),
        [
          [person, statement, later],
          [later, statement, null],
        ],
      )
      assert.equal((await masking.send('GET', path)).status, 200)
      await masking.send('DELETE', path)

      const other = freshDatabase()
      const binding = { host: '127.0.0.1', port: 1, database: 'none', user: 'u', sslmode: 'disable' }
      await masking.send('PUT', other, { properties: { binding } })
      await masking.putRule(other, 'mail', emailRule)
      const away = await masking.send('PUT', `${other}/roleMappings/m`, {
        properties: { databaseRole: 'any', principalId },
      })
      assert.equal(away.status, 201, away.text)
      await masking.send('DELETE', other)
    },
  )

  clause(
    'ENF-551',
    'After a turn the controller counts the roles that are not contained, in a two-hundredth of the…',
    async () => {
      const environment = await settleIn(masking.service())
      const other = freshDatabase()
      const binding = { host: '127.0.0.1', port: 1, database: 'none', user: 'u', sslmode: 'disable' }
      await masking.send('PUT', other, { properties: { binding } })
      await bound().createRole('second', 'LOGIN REPLICATION')
      const metricOf = async (id: string) => {
        const { text } = await masking.service().request('GET', '/metrics')
        return text.match(
          new RegExp(`^masquerade_roles_not_contained\\{database="${id}"\\} (\\d+)$`, 'm'),
        )?.[1]
      }
      assert.equal(await metricOf(other), '0')
      // Other tests make roles on the same server.
      await waitUntil('all say the same', async () => {
        const { notContained } = (await masking.send('GET', url())).body
        assert.ok(notContained >= 1)
        const { stdout } = await runHere(['status'], { environment })
        const [, told] = stdout.match(/^ +(\d+) roles? not contained: masquerade containment$/m) ?? []
        return Number(told) === notContained && Number(await metricOf(db)) === notContained
      })
      const { stdout } = await runHere(['status', '--json'], { environment })
      const { databases } = JSON.parse(stdout) as { databases: { id: string; notContained: number }[] }
      assert.equal(databases.find(({ id }) => id === other)?.notContained, 0)
      await masking.send('DELETE', other)
    },
  )

  clause(
    'ENF-551',
    'After a turn the controller counts the roles that are not contained, in a two-hundredth of the…',
    async () => {
      const { sql } = masking.service().database
      await sql`update containment_look set not_contained = -1`
      const count = async () =>
        (await sql<{ count: number }[]>`select not_contained as count from containment_look`)[0]?.count ?? -1
      await masking.putPolicy(db, { dataMaskingState: 'Enabled' })
      await waitUntil('the roles are counted', async () => (await count()) >= 0)
      await masking.putPolicy(db, { dataMaskingState: 'Disabled' })
      await waitUntil('nothing is masked', async () => (await count()) === 0)
      await masking.putPolicy(db, { dataMaskingState: 'Enabled' })
      await waitUntil('the roles are counted again', async () => (await count()) > 0)
    },
  )

  clause(
    'ENF-553',
    '`masquerade containment` lists the roles that are not contained with the statement for each reason, and ends with 4…',
    async () => {
      const copier = await bound().createRole('third', 'LOGIN REPLICATION')
      const service = masking.service()
      const access = ['--url', service.origin, '--token', service.tokenFor({ role: 'Owner' })]
      await service.tokens.settled()
      const ask = (...more: string[]) => runHere(['containment', '-d', db, ...access, ...more])
      const open = await ask()
      assert.equal(open.code, 4, open.stderr)
      assert.ok(
        open.stdout.includes(
          `${copier} has REPLICATION, and can copy the whole server\n  Reason: attribute\n  Close:  ALTER ROLE "${copier}" NOREPLICATION;\n`,
        ),
      )
      assert.match(open.stdout, /^\d+ roles? not contained\.$/m)
      assert.doesNotMatch(open.stdout, /Contained: /)
      assert.match((await ask('--all')).stdout, new RegExp(`^Contained: .*${bound().role('analyst')}`, 'm'))
      const json = JSON.parse((await ask('--json')).stdout) as Entry[]
      assert.ok(json.some(({ role }) => role === copier))
    },
  )
})
