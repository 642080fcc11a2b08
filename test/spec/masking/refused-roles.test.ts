import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { Tx } from '../../../src/db/transaction.ts'
import { useBoundDatabase } from '../../support/bound-database.ts'
import { clause } from '../../support/clause.ts'
import { askDuring } from '../../support/in-flight.ts'
import { bindingOf, createMaskedDatabase } from '../../support/masked-database.ts'
import { freshDatabase, policyUrl } from '../../support/masking.ts'
import { runHere } from '../../support/run-here.ts'
import type { TestResponse } from '../../support/service.ts'

const version = 'api-version=2026-11-01'
const earlier = 'api-version=2014-04-01'

interface Reason {
  readonly target: string
}

describe('masks that would not contain a role', () => {
  const { masking, db, bound } = useBoundDatabase()
  const policy = (query = version, of = db) => `${policyUrl(of)}?${query}`
  const document = (query = version, of = db) => `${policyUrl(of)}/document?${query}`
  const contact = {
    schemaName: 'public',
    tableName: 'person',
    columnName: 'contact',
    maskingFunction: 'Email',
  }

  const strangers = new Set<string>()
  const isOurs = (role: string) => role.endsWith(bound().role(''))
  const exempt = (...roles: string[]) => [...strangers, ...roles].join(';')

  /** Other tests make roles on the same server: those that a refusal names are exempt when the write is sent again. */
  async function write(send: () => Promise<TestResponse>): Promise<TestResponse> {
    for (;;) {
      const answer = await send()
      const details: Reason[] = answer.status === 409 ? (answer.body.error.details ?? []) : []
      const others = details.map(({ target }) => target).filter((role) => !isOurs(role))
      if (others.length === 0) return answer
      for (const role of others) strangers.add(role)
      const { properties } = (await masking.send('GET', policy())).body
      const exemptPrincipals = [...strangers, ...properties.exemptPrincipals.split(';')].join(';')
      const { dataMaskingState } = properties
      const put = await masking.send('PUT', policy(), { properties: { dataMaskingState, exemptPrincipals } })
      // It waited for a change of the policy, as the rule did: the rule is sent again first.
      assert.ok(put.status === 200 || put.body.error.code === 'Conflict', put.text)
    }
  }
  const setPolicy = (properties: object, ...roles: string[]) =>
    write(() =>
      masking.send('PUT', policy(), {
        properties: { dataMaskingState: 'Enabled', exemptPrincipals: exempt(...roles), ...properties },
      }),
    )
  const putContact = () => write(() => masking.putRule(db, 'contact', contact))
  const endContact = () => masking.send('DELETE', `${policyUrl(db)}/rules/contact`)
  const createCopier = (name: string) => bound().createRole(name, 'LOGIN REPLICATION')
  const endCopier = (role: string) => bound().database.sql.unsafe(`alter role "${role}" noreplication`)

  function refusedFor(role: string, answer: TestResponse): void {
    assert.deepEqual([answer.status, answer.body.error.code], [409, 'RolesNotContained'], answer.text)
    const message = `'${role}' has REPLICATION, and can copy the whole server. Run: ALTER ROLE "${role}" NOREPLICATION;`
    assert.deepEqual(answer.body.error.details, [{ code: 'attribute', message, target: role }])
    assert.ok(answer.body.error.message.includes(message))
  }

  clause(
    'MASK-284',
    'In api-version `2026-11-01` the policy and documents have `notContained`: `report`, unless said, or `refuse`. Left out…',
    async () => {
      const other = freshDatabase()
      const settings = async () => {
        const shown = [policy(version, other), document(version, other)].map(async (url) => {
          const { properties } = (await masking.send('GET', url)).body
          return (properties.policy ?? properties).notContained
        })
        return Promise.all(shown)
      }
      assert.deepEqual(await settings(), ['report', 'report'])
      const dataMaskingState = 'Enabled'
      const put = (url: string, notContained?: unknown) => {
        const sent = { dataMaskingState, ...(notContained !== undefined && { notContained }) }
        const properties = url.includes('/document') ? { policy: sent, rules: [] } : sent
        return masking.send('PUT', url, { properties })
      }
      for (const url of [policy, document]) {
        const { body } = await put(url(version, other), 'refuse')
        assert.equal((body.properties.policy ?? body.properties).notContained, 'refuse')
        assert.deepEqual(await settings(), ['refuse', 'refuse'])
        assert.equal((await put(url(version, other))).status, 200)
        const before = (await put(url(earlier, other))).body.properties
        assert.ok(!('notContained' in (before.policy ?? before)))
        assert.ok(!(await masking.send('GET', url(earlier, other))).text.includes('notContained'))
        assert.deepEqual(await settings(), ['refuse', 'refuse'])
        for (const [query, value] of [
          [earlier, 'report'],
          [version, 'else'],
          [version, null],
        ] as const) {
          const { status, text } = await put(url(query, other), value)
          assert.equal(status, 400)
          assert.match(text, /notContained/)
        }
        assert.equal((await put(url(version, other), 'report')).status, 200)
      }
    },
  )

  clause(
    'MASK-285',
    'With `refuse`, a PUT of a rule, policy or document that adds or changes masks, or ends an exemption, is 409…',
    async () => {
      assert.equal((await setPolicy({ notContained: 'refuse' })).status, 200)
      const copier = await createCopier('copier')
      refusedFor(copier, await putContact())
      assert.equal((await masking.getRule(db, 'contact')).status, 404)
      const { body } = await masking.send('GET', document())
      const [rule] = body.properties.rules
      const sent = { ...rule, maskingFunction: 'Default' }
      const putDocument = (rules: object[], more = {}) =>
        write(() => masking.send('PUT', document(), { properties: { rules, ...more } }))
      refusedFor(copier, await putDocument([sent]))
      refusedFor(copier, await putDocument([rule, { name: 'contact', ...contact }]))
      refusedFor(copier, await write(() => masking.putRule(db, 'mail', { ...sent, name: undefined })))

      assert.equal((await setPolicy({}, copier)).status, 200)
      assert.equal((await putContact()).status, 201)
      assert.equal((await endContact()).status, 200)
      refusedFor(copier, await setPolicy({}))
      assert.equal((await setPolicy({ dataMaskingState: 'Disabled' })).status, 200)
      assert.equal((await putContact()).status, 201, 'nothing is masked')
      refusedFor(copier, await setPolicy({ dataMaskingState: 'Enabled' }))
      assert.equal((await endContact()).status, 200)

      // The turn revokes these rights.
      const trigger = await bound().createRole('trigger', 'NOLOGIN')
      await bound().database.sql.unsafe(
        `grant trigger, references on public.person, public.people to "${trigger}"`,
      )
      await endCopier(copier)
      const enabled = await setPolicy({ dataMaskingState: 'Enabled' })
      assert.equal(enabled.status, 200, enabled.text)
      assert.equal(enabled.headers.get('x-masquerade-enforcement'), 'Enforced')
      const open = await masking.send('GET', `${policyUrl(db)}/containment?${version}&verdict=NotContained`)
      assert.ok(
        open.body.value.every(({ role }: { role: string }) => role !== trigger),
        open.text,
      )
      assert.equal((await putContact()).status, 201)
      await endContact()
    },
  )

  clause(
    'MASK-286',
    '`refuse` stops no write that only removes masks, adds exemptions or changes the setting, no binding, and no write…',
    async () => {
      assert.equal((await setPolicy({ notContained: 'report' })).status, 200)
      const copier = await createCopier('second')
      assert.equal((await putContact()).status, 201)
      assert.equal((await setPolicy({ notContained: 'refuse' })).status, 200)
      assert.equal((await setPolicy({}, bound().role('analyst'))).status, 200)
      const { body } = await masking.send('GET', document())
      const [rule] = body.properties.rules.filter(({ name }: { name: string }) => name === 'mail')
      const put = await masking.send('PUT', document(), { properties: { rules: [rule] } })
      assert.deepEqual([put.status, put.body.changes.deleted], [200, 1], put.text)
      assert.equal((await setPolicy({ dataMaskingState: 'Disabled' }, bound().role('analyst'))).status, 200)

      const other = freshDatabase()
      const away = { host: '127.0.0.1', port: 1, database: 'none', user: 'u', sslmode: 'disable' }
      await masking.send('PUT', other, { properties: { binding: away } })
      const refuse = { dataMaskingState: 'Enabled', notContained: 'refuse' }
      assert.equal((await masking.send('PUT', policy(version, other), { properties: refuse })).status, 200)
      assert.equal((await masking.putRule(other, 'contact', contact)).status, 201)
      await masking.send('DELETE', `${policyUrl(other)}/rules/contact`)
      await masking.send('DELETE', other)

      await using target = await createMaskedDatabase()
      await target.database.sql.unsafe('create table public.person (id int, contact text)')
      const third = freshDatabase()
      await masking.send('PUT', policy(version, third), { properties: refuse })
      assert.equal((await masking.putRule(third, 'contact', contact)).status, 201)
      const binding = bindingOf(target.url)
      const binds = await masking.send('PUT', third, { properties: { binding } })
      assert.equal(binds.status, 201, binds.text)
      await masking.send('POST', `${third}/restore`)
      await masking.send('DELETE', third)
      await endCopier(copier)
      assert.equal((await setPolicy({ notContained: 'report' })).status, 200)
    },
  )

  clause(
    'MASK-290',
    'Under `refuse`, a write that was judged by another policy or binding than the stored one is 409 `Conflict`.',
    async () => {
      assert.equal((await setPolicy({ notContained: 'refuse' })).status, 200)
      const change = (tx: Tx) =>
        tx`update masked_database set policy_version = nextval('resource_version') where key = ${db.toLowerCase()}`
      let answer = await askDuring(masking.service(), change, putContact)
      // Roles of other tests came meanwhile, and the write was sent again.
      for (let again = 0; answer.status === 201 && again < 5; again++) {
        await endContact()
        answer = await askDuring(masking.service(), change, putContact)
      }
      assert.deepEqual([answer.status, answer.body.error?.code], [409, 'Conflict'], answer.text)
      assert.equal((await putContact()).status, 201)
      await endContact()
      assert.equal((await setPolicy({ notContained: 'report' })).status, 200)
    },
  )

  clause(
    'MASK-287',
    'An impact, and the answer to a PUT of a document, have `containment`: how many roles the masks would not contain…',
    async () => {
      const copier = await createCopier('third')
      const { policy: stored, rules } = (await masking.send('GET', document())).body.properties
      const properties = { policy: { ...stored, dataMaskingState: 'Enabled' }, rules }
      const impact = `${policyUrl(db)}/impact?${version}`
      for (const [method, url] of [
        ['POST', impact],
        ['PUT', document()],
      ] as const) {
        const { status, body, text } = await masking.send(method, url, { properties })
        assert.equal(status, 200, text)
        assert.ok(body.containment.notContained >= body.containment.roles.length)
        const found = body.containment.roles.find(({ role }: { role: string }) => role === copier)
        assert.deepEqual(found, {
          role: copier,
          canLogIn: true,
          verdict: 'NotContained',
          reasons: [
            {
              kind: 'attribute',
              text: 'has REPLICATION, and can copy the whole server',
              statement: `ALTER ROLE "${copier}" NOREPLICATION`,
              via: null,
            },
          ],
        })
        const off = { ...properties, policy: { ...stored, dataMaskingState: 'Disabled' } }
        const { containment } = (await masking.send('POST', impact, { properties: off })).body
        assert.deepEqual(containment, { notContained: 0, roles: [] })
      }
      assert.ok(!('containment' in (await masking.send('GET', document())).body))
      const away = await masking.send('PUT', document(version, freshDatabase()), {
        properties: { rules: [] },
      })
      assert.equal(away.body.containment, null)
    },
  )

  clause(
    'MASK-288',
    '`rolesNotContained` of `GET /providers/Vendor.Sql/databases` says how many roles the last look found not contained…',
    async () => {
      const { sql } = masking.service().database
      const count = async () => {
        const { body } = await masking.send('GET', `/providers/Vendor.Sql/databases?${version}`)
        return body.value.find(({ id }: { id: string }) => id === db)?.properties.rolesNotContained
      }
      await sql`update containment_look set not_contained = 7`
      assert.equal(await count(), 7)
      await sql`delete from containment_look`
      assert.equal(await count(), 0)
    },
  )

  clause(
    'MASK-289',
    '`masquerade policy not-contained` sets `notContained`, and so does a file of rules. `policy show` and the impact…',
    async () => {
      const copier = await createCopier('fourth')
      const service = masking.service()
      const access = ['--url', service.origin, '--token', service.tokenFor({ role: 'Owner' })]
      await service.tokens.settled()
      const run = (...args: string[]) => runHere([...args, '-d', db, ...access])
      const apply = (input: string) =>
        runHere(['rules', 'apply', '-f', '-', '-d', db, ...access, '--yes'], { input })
      const set = await run('policy', 'not-contained', 'refuse', '--yes')
      assert.match(set.stdout, /It refuses masks that would not contain every role\./, set.stderr)
      assert.match((await run('policy', 'show')).stdout, /^Enabled, roles not contained are refused, /)
      const wrong = await run('policy', 'not-contained', 'never')
      assert.deepEqual(
        [wrong.code, wrong.stderr.includes("'never' is neither 'report' nor 'refuse'")],
        [2, true],
      )
      const options = ['--column', 'public.person.contact', '--function', 'Email', '--yes']
      const refused = await run('rules', 'set', 'contact', ...options)
      assert.equal(refused.code, 1)
      assert.match(
        refused.stdout,
        /^Roles that the masks would not contain: .* See: masquerade containment -d /m,
      )
      assert.match(refused.stderr, /NOREPLICATION|There are \d+ reasons more/)
      const back = await run('policy', 'not-contained', 'report', '--yes')
      assert.match(back.stdout, /^The policy is Enabled\.$/m)
      const setting = async () => (await masking.send('GET', policy())).body.properties.notContained
      assert.equal(await setting(), 'report')
      const { exemptPrincipals } = (await masking.send('GET', policy())).body.properties
      const kept = { exemptPrincipals: exemptPrincipals.split(';').filter(Boolean) }
      const sent = { policy: { dataMaskingState: 'Enabled', notContained: 'refuse', ...kept } }
      const { code, stderr } = await apply(JSON.stringify(sent))
      assert.equal(code, 0, stderr)
      assert.equal(await setting(), 'refuse')
      await endCopier(copier)
    },
  )
})
