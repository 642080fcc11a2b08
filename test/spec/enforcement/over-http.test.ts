import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { clause } from '../../support/clause.ts'
import { bindingOf, createMaskedDatabase } from '../../support/masked-database.ts'
import { emailRule, freshDatabase, policyUrl, useMasking } from '../../support/masking.ts'
import { waitUntil } from '../../support/wait-until.ts'

describe('rules of a bound database become masks', () => {
  const masking = useMasking({ MASQUERADE_AUDIT_SECONDS: '3600' })
  const db = freshDatabase()
  let target: Awaited<ReturnType<typeof createMaskedDatabase>>
  let analyst: string
  let auditor: string
  let binding: object

  before(async () => {
    target = await createMaskedDatabase()
    analyst = await target.createRole('analyst')
    auditor = await target.createRole('auditor')
    await target.database.sql.unsafe(`
      create table public.person (id int primary key, email text, phone text);
      insert into public.person values (1, 'ann@example.com', '555-1234');
      grant usage on schema public to public; grant select on public.person to "${analyst}", "${auditor}"`)
    binding = bindingOf(target.url)
    const server = await masking.send('PUT', db.replace(/\/databases\/.*/, ''), {})
    assert.equal(server.status, 201, server.text)
    const bound = await masking.send('PUT', db, { properties: { binding } })
    assert.equal(bound.status, 201, bound.text)
  })
  after(() => target[Symbol.asyncDispose]())

  const emailSeenBy = async (role: string, from = 'public.person') => {
    const [row] = await target.runAs(role, `select email from ${from}`)
    return row?.email
  }

  test('a rule is enforced before its PUT is answered', async () => {
    const { status, headers, text } = await masking.putRule(db, 'mail', {
      schemaName: 'public',
      tableName: 'person',
      columnName: 'email',
      maskingFunction: 'Email',
    })
    assert.equal(status, 201, text)
    assert.equal(headers.get('x-masquerade-enforcement'), 'Enforced')
    assert.equal(await emailSeenBy('analyst', 'masked_public.person'), 'aXXX@XXXX.com')
    await assert.rejects(emailSeenBy('analyst'), /permission denied/)
  })

  clause(
    'MASK-109',
    '`{db}/dataMaskingPolicies/Default/enforcement` shows the state of enforcement, its last error and, as a dry run, the plan of what it would change.',
    async () => {
      const url = `${policyUrl(db)}/enforcement?api-version=2014-04-01`
      const { body } = await masking.send('GET', `${url}&plan=true`)
      assert.equal(body.state, 'Enforced')
      assert.equal(body.reason, null)
      assert.deepEqual(body.plan, [])

      const other = freshDatabase()
      const unbound = await masking.send('GET', `${policyUrl(other)}/enforcement`)
      assert.equal(unbound.body.state, 'NotBound')

      await masking.send('PUT', other, { properties: { binding: { ...binding, database: 'not_there' } } })
      await masking.putRule(other, 'mail', emailRule)
      const failed = await masking.send('GET', `${policyUrl(other)}/enforcement`)
      assert.equal(failed.body.state, 'Failed')
      assert.match(failed.body.reason, /does not exist/)
    },
  )

  clause(
    'MASK-98',
    'A property that applies to the function and was not sent is null in the answer; the mask then works with prefix 0, suffix 0 and the replacement `XXXX`.',
    async () => {
      const { body } = await masking.putRule(db, 'phone', {
        ...emailRule,
        columnName: 'phone',
        maskingFunction: 'Text',
      })
      assert.deepEqual(
        [body.properties.prefixSize, body.properties.suffixSize, body.properties.replacementString],
        [null, null, null],
      )
      const [row] = await target.connectAs('analyst').sql`select phone from masked_public.person`
      assert.equal(row?.phone, 'XXXX')
    },
  )

  clause(
    'MASK-42',
    '`properties.exemptPrincipals` is one string, a list of database users separated by semicolons; masking does not apply to them and every query of theirs gets unmasked results.',
    async () => {
      await masking.putPolicy(db, { dataMaskingState: 'Enabled', exemptPrincipals: `nobody;${auditor}` })
      assert.equal(await emailSeenBy('auditor'), 'ann@example.com')
      await assert.rejects(emailSeenBy('analyst'), /permission denied/)
    },
  )

  test('a grant made by hand is taken back, and counted', async () => {
    await target.database.sql.unsafe(`grant select on public.person to "${analyst}"`)
    await waitUntil('the drift is repaired', async () => {
      const seen = await emailSeenBy('analyst').catch((error: Error) => error.message)
      return /permission denied/.test(seen)
    })
    // The turn that repairs it counts it once it has committed.
    const repairs = await waitUntil('the repair is counted', async () => {
      const { body } = await masking.send('GET', `${policyUrl(db)}/enforcement`)
      return body.driftRepairs > 0 && body.driftRepairs
    })
    assert.equal(repairs, 1)
  })

  test('a suspended table has no twin, can be altered, and shows nothing', async () => {
    const table = { schemaName: 'public', tableName: 'person' }
    await assert.rejects(
      target.database.sql.unsafe('alter table public.person alter email type varchar(100)'),
      /view/,
    )
    const { status } = await masking.send('POST', `${policyUrl(db)}/suspend`, table)
    assert.equal(status, 204)
    await target.database.sql.unsafe('alter table public.person alter email type varchar(100)')
    await assert.rejects(emailSeenBy('analyst'), /permission denied/)
    await assert.rejects(emailSeenBy('analyst', 'masked_public.person'), /does not exist/)
    await masking.send('POST', `${policyUrl(db)}/resume`, table)
    assert.equal(await emailSeenBy('analyst', 'masked_public.person'), 'aXXX@XXXX.com')
  })

  clause('MASK-105', 'Setting the policy to `Disabled` keeps every rule and removes the masks.', async () => {
    const { headers } = await masking.putPolicy(db, { dataMaskingState: 'Disabled' })
    assert.equal(headers.get('x-masquerade-enforcement'), 'Off')
    assert.equal(await emailSeenBy('analyst'), 'ann@example.com')
    assert.equal((await masking.listRules(db)).length, 2)
  })
})
