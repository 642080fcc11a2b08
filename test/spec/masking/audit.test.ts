import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { knownPermissions } from '../../../src/auth/known-permissions.ts'
import type { Tx } from '../../../src/db/database.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory } from '../../support/directory.ts'
import {
  apiVersion,
  emailRule,
  freshDatabase,
  policyUrl,
  ruleUrl,
  useMasking,
} from '../../support/masking.ts'
import { waitUntil } from '../../support/wait-until.ts'

const { service, sender, send, putRule, putPolicy } = useMasking()

interface Event {
  id: string
  time: string
  action: string
  resourceId: string
  actor: { kind: string; objectId: string; applicationId: string }
  requestId: string
  // biome-ignore lint/suspicious/noExplicitAny: resources of every kind
  before: any
  // biome-ignore lint/suspicious/noExplicitAny: resources of every kind
  after: any
}
const eventsOf = async (scope: string, query = ''): Promise<Event[]> =>
  (await send('GET', `${scope}/auditEvents?${apiVersion}${query}`)).body.value

clause(
  'MASK-116',
  'Every write is audited, and the audit log can be read: the caller (principal and…',
  async () => {
    const db = freshDatabase()
    const started = Date.now()
    const writes = [
      await send('PUT', db, { location: 'here' }),
      await putRule(db, 'My Rule', emailRule),
      await putRule(db, 'my rule', { ...emailRule, columnName: 'moved' }),
      await putPolicy(db, { dataMaskingState: 'Disabled', exemptPrincipals: 'dba' }),
      await putRule(db, 'My Rule', { ...emailRule, columnName: 'moved', ruleState: 'Disabled' }),
      await putRule(db, 'second', emailRule),
      await send('DELETE', ruleUrl(db, 'second')),
      await send('DELETE', db),
    ]
    const events = (await eventsOf(db)).reverse()
    const stem = 'Vendor.Sql/servers/databases'
    assert.deepEqual(
      events.map(({ action }) => action.replace(stem, '')),
      [
        '/write',
        '/dataMaskingPolicies/rules/write',
        '/dataMaskingPolicies/write', // the first rule turned the policy on
        '/dataMaskingPolicies/rules/write',
        '/dataMaskingPolicies/write',
        '/dataMaskingPolicies/rules/delete',
        '/dataMaskingPolicies/rules/write',
        '/dataMaskingPolicies/rules/delete',
        '/delete',
      ],
    )
    for (const { actor, time } of events) {
      assert.equal(actor.kind, 'delegated')
      assert.equal(actor.applicationId, service().tokens.shared.appId)
      assert.equal(actor.objectId, sender())
      assert.ok(Date.parse(time) >= started - 60_000 && Date.parse(time) <= Date.now() + 60_000)
    }
    const requestIds = writes.map(({ headers }) => headers.get('x-ms-request-id'))
    assert.deepEqual([...new Set(events.map(({ requestId }) => requestId))], requestIds)

    const [, created, enabled, moved, policy, deleted] = events
    assert.equal(created?.resourceId, ruleUrl(db, 'My Rule').replaceAll('%20', ' '))
    assert.equal(created?.before, null)
    assert.deepEqual(created?.after, writes[1]?.body)
    assert.equal(enabled?.before.properties.dataMaskingState, 'Disabled')
    assert.equal(enabled?.after.properties.dataMaskingState, 'Enabled')
    assert.deepEqual([moved?.before, moved?.after], [writes[1]?.body, writes[2]?.body])
    assert.equal(policy?.resourceId, policyUrl(db))
    assert.equal(policy?.after.properties.exemptPrincipals, 'dba')
    assert.deepEqual([deleted?.before, deleted?.after], [writes[2]?.body, null])
    assert.deepEqual(events.at(-1)?.before.rules, [])
  },
)

test('what is refused leaves no trace of a change', async () => {
  const db = freshDatabase()
  await putRule(db, 'r', {})
  await putRule(db, 'r', { ...emailRule, colour: 'red' })
  await send('DELETE', ruleUrl(db, 'r'))
  assert.deepEqual(await eventsOf(db), [])
})

clause(
  'MASK-120',
  '`GET {db}/auditEvents` lists the changes of the database, newest first, in pages, between `from` and `to`; the same path at a server, a resource group, a subscription and `/` lists those of everything below.',
  async () => {
    const sub = `sub-${randomUUID()}`
    const server = (group: string, name: string) =>
      `/subscriptions/${sub}/resourceGroups/${group}/providers/Vendor.Sql/servers/${name}`
    const [one, two, three] = [server('G', 'V'), server('G', 'V2'), server('G2', 'V')]
    for (const place of [one, two, three]) {
      await send('PUT', place, {})
      await putRule(`${place}/databases/D`, 'r', emailRule)
    }
    const { user } = service().tokens.shared
    await send(
      'PUT',
      `/subscriptions/${sub}/providers/Vendor.Authorization/roleAssignments/${randomUUID()}`,
      {
        properties: { principalId: user, roleName: 'Reader' },
      },
    )
    const provider = '/providers/Vendor.Sql'
    const count = async (scope: string) => (await eventsOf(scope, '&$top=1000')).length
    assert.equal(await count(`${one}/databases/D`), 2)
    assert.equal(await count(one), 3)
    assert.equal(await count(one.toUpperCase()), 3)
    assert.equal(await count(one.replace('Vendor.Sql', 'Microsoft.Sql')), 3)
    assert.equal(await count(`/subscriptions/${sub}/resourceGroups/G${provider}`), 6)
    assert.equal(await count(`/subscriptions/${sub}${provider}`), 10)
    assert.ok((await count(provider)) >= 10)
    const times = (await eventsOf(`/subscriptions/${sub}${provider}`)).map(({ time }) => time)
    assert.deepEqual(times, times.toSorted().reverse())

    const narrow = service().tokenFor({ role: 'Reader', scope: one })
    const ask = (path: string) =>
      service().request('GET', `${path}/auditEvents?${apiVersion}`, { token: narrow })
    assert.equal((await ask(one)).status, 200)
    assert.equal((await ask(two)).status, 403)
    assert.equal((await ask(`/subscriptions/${sub}${provider}`)).status, 403)
  },
)

clause(
  'MASK-220',
  '`action` narrows the audit events to those whose action contains the text, in any case, and `actor` to those of…',
  async () => {
    const db = freshDatabase()
    for (const name of ['a', 'b', 'c']) await putRule(db, name, { ...emailRule, columnName: name })
    await putPolicy(db, { dataMaskingState: 'Enabled', exemptPrincipals: 'x' })
    const token = service().tokenFor({ role: 'Owner' })
    const other = await service().request('PUT', `${policyUrl(db)}/rules/d?${apiVersion}`, {
      token,
      body: { properties: { ...emailRule, columnName: 'd' } },
    })
    assert.ok(other.status < 300, other.text)
    const all = await eventsOf(db)
    const idOf = (event: Event | undefined) => event?.actor.objectId ?? ''
    const [second, first] = [idOf(all[0]), idOf(all.at(-1))]
    assert.notEqual(first, second)
    const ofRules = all.filter(({ action }) => action.includes('/rules/'))
    assert.deepEqual(await eventsOf(db, '&action=%2FRULES%2F'), ofRules)
    assert.deepEqual(await eventsOf(db, `&actor=${second}`), [all[0]])
    assert.deepEqual(await eventsOf(db, `&actor=nobody,${second},${first}`), all)
    assert.deepEqual(await eventsOf(db, '&actor=nobody'), [])
    assert.deepEqual(await eventsOf(db, '&action=%25'), [], 'no character stands for others')
    const page = await send('GET', `${db}/auditEvents?${apiVersion}&action=rules&actor=${first}&$top=2`)
    const next = await send('GET', page.body.nextLink)
    const own = ofRules.filter((event) => idOf(event) === first)
    assert.deepEqual([...page.body.value, ...next.body.value], own)
    for (const wrong of ['action=a%00b', `action=${'a'.repeat(201)}`, `actor=${','.repeat(50)}`])
      assert.equal((await send('GET', `${db}/auditEvents?${apiVersion}&${wrong}`)).status, 400, wrong)
  },
)

/** A database with two changes, a preview, three entries about sessions and two touches, one of them two days ago. */
async function fillKinds(): Promise<{ db: string; of: Record<string, string[]> }> {
  const db = freshDatabase()
  await send('PUT', db, {})
  await putPolicy(db, { dataMaskingState: 'Disabled', exemptPrincipals: 'dba' })
  const of: Record<string, string[]> = {
    touch: ['gateway/touch', 'gateway/touch'],
    session: ['gateway/connect', 'gateway/disconnect', 'gateway/refuse'],
    preview: ['previewTable'],
  }
  const actor = { kind: 'gateway', objectId: 'analyst', applicationId: '' }
  const { sql } = service().database
  for (const action of Object.values(of).flat())
    await sql`insert into audit_event (tenant_id, actor, action, target, after)
      select tenant_id, ${sql.json(actor)}, ${action}, ${db.toLowerCase()}, '{}' from first_start`
  await sql`update audit_event set at = at - interval '2 days'
    where id = (select max(id) from audit_event where target = ${db.toLowerCase()} and action = 'gateway/touch')`
  const stem = 'Vendor.Sql/servers/databases'
  return { db, of: { ...of, change: [`${stem}/dataMaskingPolicies/write`, `${stem}/write`] } }
}

clause(
  'MASK-230',
  '`kind` narrows the audit events to one kind: `touch` of masked columns, `preview` of a table, `session` of the gateway, or `change`…',
  async () => {
    const { db, of } = await fillKinds()
    for (const [kind, actions] of Object.entries(of)) {
      const found = await eventsOf(db, `&kind=${kind}`)
      assert.deepEqual(found.map(({ action }) => action).toSorted(), actions.toSorted(), kind)
    }
    assert.equal((await eventsOf(db, '&kind=session&action=REFUSE')).length, 1)
    assert.deepEqual(await eventsOf(db, '&kind=preview&action=touch'), [])
    const page = await send('GET', `${db}/auditEvents?${apiVersion}&kind=session&$top=2`)
    const next = await send('GET', page.body.nextLink)
    assert.deepEqual([...page.body.value, ...next.body.value], await eventsOf(db, '&kind=session'))
    assert.equal((await send('GET', `${db}/auditEvents?${apiVersion}&kind=other`)).status, 400)
  },
)

clause(
  'MASK-228',
  '`GET {db}/activitySummary` counts, for callers who may read the audit of the database and for each day of 24 hours since `from`, its audit events by kind…',
  async () => {
    const { db } = await fillKinds()
    const from = new Date(Date.now() - 60 * 3_600_000).toISOString()
    const countsOf = async (query = '') => {
      const { status, body, text } = await send('GET', `${db}/activitySummary?${apiVersion}${query}`)
      assert.equal(status, 200, text)
      return body.days
    }
    const nothing = { touch: 0, preview: 0, session: 0, change: 0 }
    const later = (days: number) => new Date(Date.parse(from) + days * 86_400_000).toISOString()
    assert.deepEqual(await countsOf(`&from=${from}`), [
      { ...nothing, start: from, touch: 1 },
      { ...nothing, start: later(1) },
      { touch: 1, preview: 1, session: 3, change: 2, start: later(2) },
    ])
    assert.equal((await countsOf()).length, 30)
    assert.equal((await countsOf('&from=2001-01-01')).length, 92)
    const path = `${db}/activitySummary?${apiVersion}`
    const ask = (token: string) => service().request('GET', path, { token })
    assert.equal((await ask(service().tokenFor({ role: 'Reader', scope: freshDatabase() }))).status, 403)
    // A role at the database alone counts nothing of an earlier one of the same name.
    await send('DELETE', db)
    await send('PUT', db, {})
    const late = await ask(service().tokenFor({ role: 'Reader', scope: db }))
    assert.deepEqual(late.body.days.at(-1), { ...nothing, change: 1, start: late.body.days.at(-1).start })
    assert.equal((await send('GET', `${path}&from=yesterday`)).status, 400)
  },
)

clause(
  'MASK-270',
  'The summary (MASK-210) counts reads as `raw`, `masked` and `denied`, each statement by the first of these that it has, for each day…',
  async () => {
    const { sql } = service().database
    const read = async (who: string, ...statements: object[]) => {
      const actor = { kind: 'databaseRole', objectId: who, applicationId: '' }
      await sql`insert into audit_event (tenant_id, actor, action, target, after)
        select tenant_id, ${sql.json(actor)}, 'gateway/touch', ${freshDatabase().toLowerCase()}, ${sql.json({ statements })}
        from first_start`
    }
    const columns = ['public.customers.email']
    await sql`delete from audit_event where action = 'gateway/touch'`
    await read('masked', { kind: 'SELECT', count: 9, masked: columns }, { count: 1, denied: columns })
    await read('exempt', { kind: 'COPY', count: 2, raw: columns, masked: columns })
    await read('exempt', { kind: 'SELECT', count: 3, masked: columns }, { count: 1, written: columns })
    await read('observed', { kind: 'SELECT', count: 1, wouldMask: columns })
    await read('denied', { kind: 'SELECT', count: 70, denied: columns })
    for (const who of ['last', 'late']) await read(who, { kind: 'DO', count: 90, unparsed: true })
    const { body, text, status } = await send('GET', `/providers/Vendor.Sql/activitySummary?${apiVersion}`)
    assert.equal(status, 200, text)
    assert.deepEqual(body.days.at(-1).reads, { raw: 3, masked: 12, denied: 71 })
    assert.deepEqual(body.days.at(-2).reads, { raw: 0, masked: 0, denied: 0 })
    const none = { raw: 0, masked: 0, denied: 0 }
    assert.deepEqual(body.touchedBy, [
      { objectId: 'exempt', touches: 2, reads: { raw: 2, masked: 3, denied: 0 } },
      { objectId: 'observed', touches: 1, reads: { raw: 1, masked: 0, denied: 0 } },
      { objectId: 'masked', touches: 1, reads: { raw: 0, masked: 9, denied: 1 } },
      { objectId: 'denied', touches: 1, reads: { raw: 0, masked: 0, denied: 70 } },
      { objectId: 'last', touches: 1, reads: none },
    ])
  },
)

test('pages follow each other without gaps, and times narrow them', async () => {
  const db = freshDatabase()
  for (let at = 0; at < 7; at++)
    await putPolicy(db, { dataMaskingState: 'Enabled', exemptPrincipals: `user${at}` })
  const all = await eventsOf(db)
  assert.equal(all.length, 7)
  const seen: Event[] = []
  let url = `${db}/auditEvents?${apiVersion}&$top=3`
  for (let pages = 0; url && pages < 5; pages++) {
    const { body } = await send('GET', url)
    assert.ok(body.value.length <= 3)
    seen.push(...body.value)
    url = body.nextLink
  }
  assert.deepEqual(seen, all)

  const middle = encodeURIComponent(all[3]?.time.replace(/\d{3}Z$/, 'Z') ?? '')
  const [older, newer] = [await eventsOf(db, `&to=${middle}`), await eventsOf(db, `&from=${middle}`)]
  assert.deepEqual([...newer, ...older], all)
  assert.deepEqual(await eventsOf(db, '&from=2999-01-01'), [])
  for (const wrong of [
    'from=yesterday',
    'from=2026-13-01',
    'to=2026-01-01T00:00:00',
    'to=275760-01-01',
    '$top=0',
    '$top=1001',
    '$top=x',
    '$skipToken=x',
    `$skipToken=${Buffer.from('["2026-99-01T00:00:00.000000Z","1"]').toString('base64url')}`,
    `$skipToken=${Buffer.from('["now","1"]').toString('base64url')}`,
    'colour=red',
  ])
    assert.equal((await send('GET', `${db}/auditEvents?${apiVersion}&${wrong}`)).status, 400, wrong)
})

/** Sends requests that wait for what `hold` holds, in this order, and `meanwhile` while they do. */
async function sendBehind(
  hold: (tx: Tx) => Promise<unknown>,
  requests: readonly (() => Promise<{ readonly status: number; readonly text: string }>)[],
  meanwhile: () => Promise<unknown> = async () => {},
): Promise<void> {
  const { database } = service()
  const begun = await database.transaction(async (tx) => {
    await hold(tx)
    const answers = []
    for (const request of requests) {
      answers.push(request())
      await waitUntil('the requests wait', async () => {
        const waiting = await database.sql`
          select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
        return waiting.count >= answers.length
      })
    }
    await meanwhile()
    return { answers }
  })
  for (const answer of await Promise.all(begun.answers)) assert.ok(answer.status < 300, answer.text)
}

clause(
  'SVC-123',
  'An audit entry has the time at which it was written, behind the locks that its change waited for, …',
  async (t) => {
    const latest = async () => {
      const rows = await service().database.sql<{ target: string }[]>`
        select target from audit_event order by at desc, id desc limit 2`
      return rows.map(({ target }) => target)
    }
    await t.test('of masking', async () => {
      const [late, other] = [freshDatabase(), freshDatabase()]
      await send('PUT', late, {})
      await sendBehind(
        (tx) => tx`select from masked_database where key = ${late.toLowerCase()} for update`,
        [() => putPolicy(late, { dataMaskingState: 'Disabled' })],
        () => send('PUT', other, {}),
      )
      assert.deepEqual(await latest(), [policyUrl(late).toLowerCase(), other.toLowerCase()])
    })
    await t.test('of the directory', async () => {
      const [late, other] = [await fillDirectory(service()).user(), await fillDirectory(service()).user()]
      const token = service().tokenFor({ kind: 'application', permissions: Object.keys(knownPermissions) })
      const change = (id: string) =>
        service().request('PATCH', `/v1.0/users/${id}`, { token, body: { jobTitle: 'Pilot' } })
      await sendBehind(
        (tx) => tx`select from directory_object where id = ${late} for update`,
        [() => change(late)],
        () => change(other),
      )
      assert.deepEqual(await latest(), [`/users/${late}`, `/users/${other}`])
    })
  },
)

test('SVC-123: a database or server that waited for the end of an earlier one has none of its entries', async () => {
  const sub = '/subscriptions/sub-1/resourceGroups/Group-1/providers/Vendor.Sql/servers'
  for (const what of ['masked_database', 'server'] as const) {
    const server = `${sub}/${randomUUID()}`
    const place = what === 'server' ? server : `${server}/databases/Shop`
    await send('PUT', place, { tags: { is: 'earlier' } })
    await sendBehind(
      (tx) => tx`select from ${tx(what)} where key = ${place.toLowerCase()} for update`,
      [() => send('DELETE', place), () => send('PUT', place, { tags: { is: 'present' } })],
    )
    const token = service().tokenFor({ role: 'Reader', scope: place })
    const { body } = await service().request('GET', `${place}/auditEvents?${apiVersion}`, { token })
    assert.deepEqual(
      body.value.map(({ before, after }: Event) => [before?.tags, after?.tags]),
      [[undefined, { is: 'present' }]],
    )
  }
})
