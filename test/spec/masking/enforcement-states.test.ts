import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { parse } from 'yaml'
import { useBoundDatabase } from '../../support/bound-database.ts'
import { clause } from '../../support/clause.ts'
import { bindingOf, createMaskedDatabase } from '../../support/masked-database.ts'
import { freshDatabase, policyUrl } from '../../support/masking.ts'
import { runHere, settleIn } from '../../support/run-here.ts'
import { retryUntil } from '../../support/wait-until.ts'

const { masking, db, bound } = useBoundDatabase()
const person = { schemaName: 'public', tableName: 'person' }
const rule = { ...person, columnName: 'email', maskingFunction: 'Email' }
const list = '/providers/Vendor.Sql/databases?api-version=2026-11-01'

const setMode = async (enforcementMode: string) => {
  const document = `${policyUrl(db)}/document?api-version=2026-11-01`
  const { rules } = (await masking.send('GET', document)).body.properties
  const policy = { dataMaskingState: 'Enabled', enforcementMode, exemptPrincipals: [] }
  const put = await masking.send('PUT', document, { properties: { policy, rules } })
  assert.equal(put.status, 200, put.text)
  return put
}
const turn = (dataMaskingState: string) => masking.putPolicy(db, { dataMaskingState })
const stateOf = async (place: string) => (await masking.send('GET', `${policyUrl(place)}/enforcement`)).body
const preview = (body: object = person, token?: string) => {
  const path = `${policyUrl(db)}/preview`
  if (token === undefined) return masking.send('POST', path, body)
  return masking.service().request('POST', `${path}?api-version=2014-04-01`, { token, body })
}
const callerOf = (token: string): string =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()).oid

/** What an analyst reads of the masked column by plain SQL. */
const readsRaw = async () => {
  const read = bound().runAs('analyst', 'select email from public.person limit 1')
  return read.then(
    () => true,
    () => false,
  )
}

/** The state as each surface shows it, all of which must be the same. */
async function see(place = db): Promise<string> {
  const report = await stateOf(place)
  const shown = await masking.send('GET', place)
  const listed = (await masking.send('GET', list)).body.value.find(
    ({ id }: { id: string }) => id.toLowerCase() === place.toLowerCase(),
  )
  const { enforcement } = shown.body.properties
  const all = [
    shown.headers.get('x-masquerade-enforcement'),
    report.state,
    enforcement.state,
    listed.properties.enforcement.state,
  ]
  assert.deepEqual(all, Array(4).fill(all[0]))
  assert.deepEqual(
    [enforcement.reason, listed.properties.enforcement.reason],
    [report.reason, report.reason],
    'and for the same reason',
  )
  if (report.state === 'Enforced') assert.equal(report.reason, null)
  else assert.match(report.reason, /[.;]$/)
  return report.state
}

const command = async (...args: string[]) => {
  const service = masking.service()
  const access = ['--url', service.origin, '--token', service.tokenFor({ role: 'Owner' })]
  await service.tokens.settled()
  return runHere([...args, '-d', db, ...access])
}
const status = async (...args: string[]) => {
  const environment = await settleIn(masking.service())
  return (await runHere(['status', ...args], { environment })).stdout
}
const count = async (name: string) => {
  const { text } = await masking.service().request('GET', '/metrics')
  const lines = text.matchAll(new RegExp(`^${name}\\{state="(\\w+)"\\} (\\d+)$`, 'gm'))
  return Object.fromEntries([...lines].map(([, state, value]) => [state, Number(value)]))
}

clause(
  'MASK-261',
  'A database without rules is `NoRules`, unless a caller turned its policy off: then it is `Off`, as is one whose policy is off and that has rules.',
  async () => {
    await masking.send('DELETE', `${policyUrl(db)}/rules/mail`)
    assert.equal(await see(), 'NoRules')
    assert.equal((await setMode('Observe')).headers.get('x-masquerade-enforcement'), 'NoRules')
    await turn('Disabled')
    assert.equal(await see(), 'Off')
    const put = await masking.putRule(db, 'mail', rule)
    assert.equal(put.headers.get('x-masquerade-enforcement'), 'Off')
    assert.equal(await readsRaw(), true)
    await setMode('Enforce')
    assert.equal(await see(), 'Enforced')

    // The policy of a new database is Disabled, and no caller chose that.
    const fresh = freshDatabase()
    await using target = await createMaskedDatabase()
    await target.database.sql.unsafe('create table public.person (id int, email text)')
    const bind = await masking.send('PUT', fresh, { properties: { binding: bindingOf(target.url) } })
    assert.equal(bind.headers.get('x-masquerade-enforcement'), 'NoRules')
    assert.equal(await see(fresh), 'NoRules')
    assert.equal(
      (await masking.putRule(fresh, 'mail', rule)).headers.get('x-masquerade-enforcement'),
      'Enforced',
    )
    await masking.putPolicy(fresh, { dataMaskingState: 'Disabled' })
    assert.equal((await masking.send('DELETE', fresh)).status, 200)
  },
)

clause(
  'MASK-260',
  'The header, the answers about enforcement, databases and their list, the command line, the portal and the metric show one state…',
  async () => {
    const unbound = freshDatabase()
    await masking.send('PUT', unbound, { properties: {} })
    assert.equal(await see(unbound), 'NotBound')
    for (const [change, state, word] of [
      [() => setMode('Observe'), 'Observing', 'Observing'],
      [() => turn('Disabled'), 'Off', 'Off'],
      [() => masking.send('DELETE', `${policyUrl(db)}/rules/mail`), 'Off', 'Off'],
      [() => setMode('Enforce'), 'NoRules', 'No rules'],
      [() => masking.putRule(db, 'mail', rule), 'Enforced', 'Enforced'],
    ] as const) {
      assert.equal((await change()).headers.get('x-masquerade-enforcement'), state)
      assert.equal(await see(), state)
      assert.equal(JSON.parse(await status('--json')).databases[0].state, state)
      assert.match(await status(), new RegExp(`^ {2}${word} +/subscriptions/`, 'm'))
      assert.match((await command('policy', 'show')).stdout, new RegExp(`In the database: ${word}\\b`))
      const counts = await count('masquerade_masked_databases')
      assert.deepEqual([counts[state], counts.NotBound], [1, 1])
    }
    await masking.send('DELETE', unbound)
  },
)

clause(
  'MASK-262',
  'After a change that ends masks, as of the policy, its mode or the last rule, the state is `Pending` until the masks are gone, or `Failed` where that fails. Only then is it `Off`, `NoRules` or `Observing`.',
  async () => {
    const { sql } = bound().database
    const mask = async () => {
      await setMode('Enforce')
      await masking.putRule(db, 'mail', rule)
      assert.equal(await see(), 'Enforced')
    }
    const remove = () => masking.send('DELETE', `${policyUrl(db)}/rules/mail`)
    const changes = [
      [() => turn('Disabled'), 'Off'],
      [() => setMode('Observe'), 'Observing'],
      [remove, 'NoRules'],
    ] as const
    for (const [change, state] of changes) {
      // The masks of this database are another resource's: this service may not end them.
      await sql.unsafe('update masquerade_guard.policy set owner = gen_random_uuid()')
      assert.equal((await change()).headers.get('x-masquerade-enforcement'), 'Failed')
      assert.deepEqual([await see(), await readsRaw()], ['Failed', false])
      await sql.unsafe('update masquerade_guard.policy set owner = null')

      await mask()
      await bound().database.transaction(async (tx) => {
        await tx`lock table public.person in access exclusive mode`
        assert.equal((await change()).headers.get('x-masquerade-enforcement'), 'Pending')
        assert.equal(await see(), 'Pending')
      })
      await retryUntil(async () => assert.equal(await see(), state))
      assert.equal(await readsRaw(), true)
      await mask()
    }
  },
)

clause(
  'MASK-263',
  '`masks` of a preview has the state with its reason, and says in `areInForce` whether it is `Enforced`. In every other state `values` are what masks would show: roles may read raw values.',
  async () => {
    const { body } = await preview()
    assert.deepEqual(body.masks, { state: 'Enforced', areInForce: true, reason: null })
    for (const [change, state] of [
      [() => turn('Disabled'), 'Off'],
      [() => setMode('Observe'), 'Observing'],
    ] as const) {
      await change()
      const shown = (await preview()).body
      const { reason } = await stateOf(db)
      assert.deepEqual(shown.masks, { state, areInForce: false, reason })
      assert.match(reason, /read raw values\.$/)
      assert.equal(await readsRaw(), true)
      assert.equal(shown.rows[0].values[1], 'zXXX@XXXX.com')
    }
    await setMode('Enforce')
  },
)

clause('MASK-264', 'A preview marks as `isDraft` each column whose mask is not stored.', async () => {
  const drafts = async (body: object) =>
    (await preview({ ...person, ...body })).body.columns
      .filter(({ isDraft }: { isDraft: boolean }) => isDraft)
      .map(({ name }: { name: string }) => name)
  assert.deepEqual(await drafts({}), [])
  assert.deepEqual(await drafts({ rule: { columnName: 'contact', maskingFunction: 'Email' } }), ['contact'])
  assert.deepEqual(await drafts({ rule: { columnName: 'email', maskingFunction: 'Email' } }), [])
})

clause(
  'MASK-265',
  'A caller who is not exempt gets no raw value of a column with a mask from a preview, in whichever state: that roles read raw values is said and not shown.',
  async () => {
    const token = masking.service().tokenFor({ role: 'Owner' })
    for (const change of [() => turn('Disabled'), () => setMode('Observe')]) {
      await change()
      const { body, text } = await preview(person, token)
      assert.deepEqual([body.masks.areInForce, body.rows[0].raw], [false, undefined])
      assert.ok(!text.includes('zelda'))
      const draft = { columnName: 'email', maskingFunction: 'Text', prefixSize: '9', replacementString: '' }
      assert.equal((await preview({ ...person, rule: draft }, token)).status, 403)
    }
    await masking.putPolicy(db, { dataMaskingState: 'Disabled', exemptPrincipals: callerOf(token) })
    const seen = await preview(person, token)
    assert.match(seen.body.rows[0].raw[1], /^zelda/)
    await setMode('Enforce')
  },
)

clause(
  'MASK-266',
  'Commands write a state in words (_No rules_), and with `--json` as the API does. `masquerade preview` says first that masks are not in force.',
  async () => {
    const look = (...args: string[]) => command('preview', '--table', 'public.person', ...args)
    assert.match((await look()).stdout, /^id +email\*/)
    await turn('Disabled')
    const off = await look()
    assert.match(
      off.stdout,
      /^Off: Masking is turned off, so roles read raw values\.\nThis is what masks would show:\nid +email\* +contact +/,
    )
    assert.equal(JSON.parse((await look('--json')).stdout).masks.state, 'Off')
    const draft = await look('--column', 'contact', '--function', 'Email')
    assert.match(draft.stdout, /^id +email\* +contact\* \(draft\) /m)
    const file = await command(
      'rules',
      'set',
      'mail',
      '--column',
      'public.person.email',
      '--function',
      'Email',
    )
    assert.deepEqual([file.code, file.stdout], [0, 'mail is set (Off).\n'])
    assert.match(file.stderr, /^Enforcement: Off\. Masking is turned off/m)

    await setMode('Enforce')
    await masking.send('DELETE', `${policyUrl(db)}/rules/mail`)
    const shown = await command('policy', 'show')
    assert.match(shown.stdout, /^Enabled, 0 rules\. In the database: No rules\. No column has a rule/)
    const asJson = JSON.parse((await command('policy', 'show', '--json')).stdout)
    assert.equal(asJson.enforcement.state, 'NoRules')
    await masking.putRule(db, 'mail', rule)
  },
)

clause(
  'SVC-155',
  '`masquerade_masked_databases` in `/metrics` counts all databases by state (MASK-260), and `masquerade_masking_rules` the rules of the databases in each state. Each state has a series, which begins at 0.',
  async () => {
    const none = { NotBound: 0, Failed: 0, Pending: 0, Off: 0, NoRules: 0, Observing: 0, Enforced: 0 }
    assert.deepEqual(await count('masquerade_masked_databases'), { ...none, Enforced: 1 })
    assert.deepEqual(await count('masquerade_masking_rules'), { ...none, Enforced: 1 })
    const [stored, other] = [freshDatabase(), freshDatabase()]
    for (const place of [stored, other]) await masking.putRule(place, 'mail', rule)
    await turn('Disabled')
    assert.deepEqual(await count('masquerade_masked_databases'), { ...none, NotBound: 2, Off: 1 })
    assert.deepEqual(await count('masquerade_masking_rules'), { ...none, NotBound: 2, Off: 1 })
    await setMode('Enforce')
  },
)

/** The alerts about states that would fire now, by the metrics of the service. */
async function listFiring(): Promise<string[]> {
  const { groups } = parse(await readFile(new URL('../../../deploy/alerts.yaml', import.meta.url), 'utf8'))
  const rules: { alert: string; expr: string }[] = groups.flatMap((group: { rules: object[] }) => group.rules)
  const firing: string[] = []
  for (const { alert, expr } of rules) {
    const [, name = '', state = ''] = /^max\((\w+)\{job="masquerade", state="(\w+)"\}\) > 0$/.exec(expr) ?? []
    if (name !== '' && ((await count(name))[state] ?? assert.fail(`${alert} has no series`)) > 0)
      firing.push(alert)
  }
  return firing
}

clause(
  'SVC-156',
  'Rules of `deploy/alerts.yaml` fire for a database whose masks have failed or stay pending, and for one that has rules and is `Off`.',
  async () => {
    const { sql } = bound().database
    assert.deepEqual(await listFiring(), [])
    await turn('Disabled')
    assert.deepEqual(await listFiring(), ['MasqueradeMaskingOff'])
    await masking.send('DELETE', `${policyUrl(db)}/rules/mail`)
    assert.deepEqual([await see(), await listFiring()], ['Off', []])
    await setMode('Enforce')
    await masking.putRule(db, 'mail', rule)
    await sql.unsafe('update masquerade_guard.policy set owner = gen_random_uuid()')
    await turn('Disabled')
    assert.deepEqual(await listFiring(), ['MasqueradeMasksFailed'])
    await sql.unsafe('update masquerade_guard.policy set owner = null')
    await masking.service().database
      .sql`update masked_database set policy_mode = 'Enforce', policy_state = 'Enabled'`
    assert.deepEqual(await listFiring(), ['MasqueradeMasksPending'])
    await setMode('Enforce')
  },
)
