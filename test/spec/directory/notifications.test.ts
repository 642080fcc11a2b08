import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import pino from 'pino'
import { createPublicGuard } from '../../../src/db/host-guard.ts'
import { migrationDirectory } from '../../../src/db/migrate.ts'
import { startService } from '../../../src/main.ts'
import { readSettings } from '../../../src/settings.ts'
import { caller, everything } from '../../support/call.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory } from '../../support/directory.ts'
import { NotifiedClient } from '../../support/notified-client.ts'
import { overlap } from '../../support/overlapping-writes.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { waitUntil } from '../../support/wait-until.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
type Item = any

describe('change notifications', () => {
  let service: TestService
  let token: string
  const client = new NotifiedClient()
  const environment = { MASQUERADE_NOTIFICATION_HOSTS: '127.0.0.1' }

  before(async () => {
    await client.start()
    service = await startTestService(environment)
    token = service.tokenFor({ kind: 'application', permissions: everything })
    await service.tokens.settled()
  })
  after(async () => {
    await service?.[Symbol.asyncDispose]()
    await client.kill()
  })

  const call = caller(
    () => service,
    () => token,
  )
  const inMinutes = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString()
  const wanted = (more: object = {}) => ({
    resource: 'groups',
    changeType: 'created,updated,deleted',
    notificationUrl: client.url,
    expirationDateTime: inMinutes(60),
    clientState: 'only we know',
    ...more,
  })
  const subscribe = async (more: object = {}): Promise<Item> =>
    (await call('POST', '/subscriptions', 201, wanted(more))).body
  const end = ({ id }: Item) => call('DELETE', `/subscriptions/${id}`, 204)
  const newGroup = async (): Promise<Item> =>
    (
      await call('POST', '/groups', 201, {
        displayName: 'G',
        mailNickname: randomUUID(),
        mailEnabled: false,
        securityEnabled: true,
      })
    ).body
  const rename = (id: string, displayName: string) => call('PATCH', `/groups/${id}`, 204, { displayName })
  const of = (subscription: Item) =>
    client.received.filter(({ subscriptionId }) => subscriptionId === subscription.id)
  const hears = async (subscription: Item, count: number): Promise<Item[]> => {
    await waitUntil(`${count} notifications`, () => of(subscription).length >= count)
    return of(subscription)
  }

  clause('DIR-143', 'Change notifications tell a subscriber what changed.', async () => {
    const subscription = await subscribe()
    const { id } = await newGroup()
    const [told] = await hears(subscription, 1)
    assert.deepEqual([told.changeType, told.resource], ['created', `groups/${id}`])
    await end(subscription)
  })

  clause(
    'DIR-385',
    'A caller has at most 100 subscriptions through one application, and at most 20 credentials for tools …',
    async () => {
      const own = service.tokenFor({ kind: 'application', permissions: everything })
      const ask = () => service.request('POST', '/v1.0/subscriptions', { token: own, body: wanted() })
      const first = await ask()
      assert.equal(first.status, 201, first.text)
      const { sql } = service.database
      await sql`
        insert into change_subscription (tenant_id, id, resource, kind, members_only, change_types, notification_url,
          creator_id, application_id, expires_at, position)
        select tenant_id, gen_random_uuid(), resource, kind, members_only, change_types, notification_url,
          creator_id, application_id, expires_at, position
        from change_subscription, generate_series(1, 98) where id = ${first.body.id}`
      const answers = await overlap(service, ask, ask)
      assert.deepEqual(
        answers.map(({ status }) => status),
        [201, 403],
      )
      await sql`delete from change_subscription where creator_id = ${first.body.creatorId}`
    },
  )

  clause(
    'DIR-407',
    'A request that DIR-385 counts and that waits for another write does not delay requests of other callers.',
    async () => {
      const expired = await subscribe()
      const { database } = service
      await database.transaction(async (tx) => {
        await tx`update change_subscription set expires_at = now() - interval '1 day' where id = ${expired.id}`
      })
      let made: Item
      // Another transaction has the expired one: a request neither waits for it nor lets others wait.
      await database.transaction(async (tx) => {
        await tx`select from change_subscription where id = ${expired.id} for update`
        void subscribe().then((body) => {
          made = body
        })
        await waitUntil('the request is answered', () => made !== undefined, { withinMs: 15_000 })
      })
      await end(made)
      await end(await subscribe())
      const left = await database.sql`select from change_subscription where id = ${expired.id}`
      assert.equal(left.count, 0, 'expired ones are deleted')
    },
  )

  clause(
    'DIR-263',
    '`POST /subscriptions` takes `resource`, `changeType`, `notificationUrl`, `expirationDateTime` and, …',
    async () => {
      const made = await call(
        'POST',
        '/subscriptions',
        201,
        wanted({ resource: '/Users', changeType: 'Deleted, created' }),
      )
      assert.equal(made.headers.get('location'), `${service.origin}/v1.0/subscriptions/${made.body.id}`)
      assert.deepEqual(
        [made.body.changeType, made.body.clientState, made.body.notificationUrl],
        ['created,deleted', 'only we know', client.url],
      )
      await end(made.body)
      const id = randomUUID()
      for (const resource of [
        'devices',
        'applications',
        'servicePrincipals',
        `users/${id}`,
        `groups/${id}/members`,
      ])
        await end(await subscribe({ resource }))
      for (const more of [
        { resource: 'contacts' },
        { resource: `users/${id}/members` },
        { resource: 'groups/x' },
        { resource: '' },
        { changeType: 'renamed' },
        { changeType: '' },
        { includeResourceData: true },
        { unknown: 1 },
      ])
        await call('POST', '/subscriptions', 400, wanted(more))
      const weak = service.tokenFor({ kind: 'application', permissions: ['Group.Read.All'] })
      for (const [resource, status] of [
        ['users', 403],
        ['groups', 201],
      ] as const) {
        const answer = await service.request('POST', '/v1.0/subscriptions', {
          token: weak,
          body: wanted({ resource }),
        })
        assert.equal(answer.status, status)
      }
    },
  )

  clause(
    'DIR-264',
    'Before a subscription is stored, each of its addresses is sent a POST with `validationToken` in its query. …',
    async () => {
      const wrong: NonNullable<NotifiedClient['validation']>[] = [
        (body) => ({ status: 202, type: 'text/plain', body }),
        (body) => ({ status: 200, type: 'text/html', body }),
        (body) => ({ status: 302, type: 'text/plain', body }),
        (body) => ({ status: 200, type: 'text/plain', body: encodeURIComponent(body) }),
        () => ({ status: 200, type: 'text/plain', body: 'x'.repeat(100_000) }),
      ]
      const list = async () => (await call('GET', '/subscriptions', 200)).body.value.length
      const count = await list()
      for (const answer of wrong) {
        client.validation = answer
        const { body } = await call('POST', '/subscriptions', 400, wanted())
        assert.match(body.error.message, /text\/plain/)
      }
      client.validation = undefined
      await call('POST', '/subscriptions', 400, wanted({ lifecycleNotificationUrl: 'http://127.0.0.1:1/x' }))
      assert.equal(await list(), count)
      await end(await subscribe({ notificationUrl: `${client.url}/path?own=1`, clientState: null }))
    },
  )

  clause(
    'DIR-265',
    'A subscription lasts until its `expirationDateTime`, at most 41,760 minutes ahead and not longer than …',
    async () => {
      for (const expirationDateTime of [inMinutes(-1), inMinutes(41_770), 'tomorrow', '2030-13-01T00:00:00Z'])
        await call('POST', '/subscriptions', 400, wanted({ expirationDateTime }))
      const { id } = await subscribe()
      const later = inMinutes(41_750)
      const renewed = await call('PATCH', `/subscriptions/${id}`, 200, { expirationDateTime: later })
      assert.equal(new Date(renewed.body.expirationDateTime).getTime(), new Date(later).getTime())
      await call('PATCH', `/subscriptions/${id}`, 400, { expirationDateTime: inMinutes(41_770) })
      await call('PATCH', `/subscriptions/${id}`, 400, { clientState: 'other' })
      await service.database.sql`update change_subscription set expires_at = now() where id = ${id}`
      await call('GET', `/subscriptions/${id}`, 404)
      await call('PATCH', `/subscriptions/${id}`, 404, { expirationDateTime: later })
    },
  )

  test('DIR-443, DIR-446: a subscription is sent back whole, and names its type', async () => {
    const type = { '@odata.type': '#microsoft.graph.subscription' }
    const { id } = await subscribe(type)
    const { body } = await call('GET', `/subscriptions/${id}`, 200)
    const expirationDateTime = inMinutes(90)
    const renewed = await call('PATCH', `/subscriptions/${id}`, 200, { ...body, ...type, expirationDateTime })
    assert.deepEqual(renewed.body, { ...body, expirationDateTime: renewed.body.expirationDateTime })
    for (const other of [{ resource: 'users' }, { '@odata.type': '#microsoft.graph.user' }])
      await call('PATCH', `/subscriptions/${id}`, 400, { ...body, ...other })
    await call('POST', '/subscriptions', 400, wanted({ '@odata.type': '#microsoft.graph.user' }))
  })

  clause(
    'DIR-266',
    "`GET /subscriptions`, and GET, PATCH and DELETE of one, show and change the caller's own subscriptions: …",
    async () => {
      const subscription = await subscribe()
      const { body } = await call('GET', `/subscriptions/${subscription.id}`, 200)
      assert.deepEqual({ ...body, clientState: 'only we know' }, subscription)
      assert.equal(body.clientState, null)
      const listed = (await call('GET', '/subscriptions', 200)).body.value
      assert.ok(listed.some(({ id }: Item) => id === subscription.id))
      const other = service.tokenFor({ permissions: everything })
      const ask = (method: string, path: string, sent?: object) =>
        service.request(method, `/v1.0${path}`, { token: other, ...(sent && { body: sent }) })
      assert.deepEqual((await ask('GET', '/subscriptions')).body.value, [])
      for (const [method, sent] of [
        ['GET'],
        ['DELETE'],
        ['PATCH', { expirationDateTime: inMinutes(1) }],
      ] as const)
        assert.equal((await ask(method, `/subscriptions/${subscription.id}`, sent)).status, 404)
      await end(subscription)
      await call('GET', `/subscriptions/${subscription.id}`, 404)
      await call('GET', '/subscriptions/x', 400)
    },
  )

  clause(
    'DIR-285',
    "Creating, renewing and deleting a subscription is audited in the directory's audit alone, with the origins of its addresses: …",
    async () => {
      const { sql } = service.database
      const key = `key-${randomUUID()}`
      const address = `${client.url}/hook/${key}?code=${key}`
      const made = await subscribe({ notificationUrl: address, lifecycleNotificationUrl: address })
      const expirationDateTime = inMinutes(90)
      await call('PATCH', `/subscriptions/${made.id}`, 200, { expirationDateTime })
      await end(made)
      const earlier = randomUUID()
      await sql`
        insert into audit_event (tenant_id, actor, action, target, before, after) values
          (${service.tenantId}, ${sql.json({ kind: 'delegated', objectId: '', applicationId: '' })}, 'create subscription',
            ${`/subscriptions/${earlier}`}, null,
            ${sql.json({ id: earlier, notificationUrl: `https://a:${key}@client.example:8443/?${key}`, lifecycleNotificationUrl: null })})`

      const reader = service.tokenFor({ role: 'Reader', scope: '/' })
      const scopes = ['', `/subscriptions/${made.id}`, `/subscriptions/${earlier}`]
      const checkMasking = async () => {
        for (const scope of scopes) {
          const url = `${scope}/providers/Vendor.Sql/auditEvents?api-version=2014-04-01&$top=1000`
          const seen = await service.request('GET', url, { token: reader })
          assert.equal(seen.status, 200, seen.text)
          assert.ok(!seen.text.includes(key) && !seen.text.includes('ubscription"'), seen.text)
        }
      }
      await checkMasking()
      const migration = path.join(migrationDirectory, '0026-subscription-audits.sql')
      await sql.unsafe(readFileSync(migration, 'utf8'))
      await checkMasking()
      const [held] = await sql<{ count: number }[]>`
        select count(*) as count from audit_event entry where entry::text like ${`%${key}%`}`
      assert.equal(held?.count, 0)
      const rows = await sql<{ action: string; url: string | null }[]>`
        select action, coalesce(after, before) ->> 'notificationUrl' as url from audit_event
        where target = any (${[made.id, earlier].map((id) => `/changeSubscriptions/${id}`)}) order by id`
      assert.deepEqual(
        rows.map(({ action, url }) => [action, url]),
        [
          ['create subscription', client.url],
          ['renew subscription', null],
          ['delete subscription', client.url],
          ['create subscription', 'https://client.example:8443'],
        ],
      )
      const logs = await service.request('GET', '/v1.0/auditLogs/directoryAudits?$top=20', {
        token: service.tokenFor({ kind: 'application', permissions: ['AuditLog.Read.All'] }),
      })
      const told = logs.body.value.filter((entry: Item) => entry.targetResources[0].id === made.id)
      assert.equal(told.length, 3)
    },
  )

  clause(
    'DIR-267',
    'A notification is a POST of `value`, a list of changes in the order of their revisions. Each has `id`, …',
    async () => {
      const [group, member] = [await newGroup(), await newGroup()]
      const all = await subscribe({ resource: `groups/${group.id}` })
      const members = await subscribe({ resource: `groups/${group.id}/members`, changeType: 'updated' })
      const deletions = await subscribe({ changeType: 'deleted', clientState: null })
      await rename(group.id, 'New')
      await call('POST', `/groups/${group.id}/members/$ref`, 204, {
        '@odata.id': `https://x/v1.0/groups/${member.id}`,
      })
      await call('DELETE', `/groups/${group.id}/members/${member.id}/$ref`, 204)
      await call('DELETE', `/groups/${group.id}`, 204)
      await call('POST', `/directory/deletedItems/${group.id}/restore`, 200)
      const told = await hears(all, 5)
      assert.deepEqual(
        told.map(({ changeType }) => changeType),
        ['updated', 'updated', 'updated', 'deleted', 'updated'],
      )
      const numbers = told.map(({ resourceData }) => resourceData.sequenceNumber)
      assert.deepEqual(
        numbers,
        numbers.toSorted((a, b) => a - b),
      )
      const [first, added, removed] = told
      const { eventTime, ...data } = first.resourceData
      assert.ok(Math.abs(Date.parse(eventTime) - Date.now()) < 60_000)
      assert.deepEqual(
        { ...first, resourceData: data },
        {
          id: `${all.id}_${data.sequenceNumber}`,
          subscriptionId: all.id,
          subscriptionExpirationDateTime: all.expirationDateTime,
          tenantId: service.tenantId,
          clientState: 'only we know',
          changeType: 'updated',
          resource: `groups/${group.id}`,
          resourceData: {
            '@odata.type': '#vendor.graph.group',
            '@odata.id': `groups/${group.id}`,
            id: group.id,
            organizationId: service.tenantId,
            sequenceNumber: data.sequenceNumber,
          },
        },
      )
      assert.deepEqual(added.resourceData['members@delta'], [{ id: member.id }])
      assert.deepEqual(removed.resourceData['members@delta'], [{ id: member.id, '@removed': 'deleted' }])
      assert.equal((await hears(members, 2)).length, 2)
      const [gone] = await hears(deletions, 1)
      assert.deepEqual([gone.changeType, gone.clientState, of(deletions).length], ['deleted', null, 1])
      for (const one of [all, members, deletions]) await end(one)
    },
  )

  clause(
    'DIR-268',
    'Notifications are delivered at least once: those that the client did not take with a 2xx are sent again …',
    async () => {
      const { sql } = service.database
      const subscription = await subscribe()
      const made: string[] = []
      const change = async () => void made.push((await newGroup()).id)
      const settle = async () => {
        // Pauses grow to minutes; the test does not wait for them.
        await sql`update change_subscription set next_attempt_at = now() where id = ${subscription.id}`
        await waitUntil('every change', () => {
          const ids = new Set(of(subscription).map(({ resourceData }) => resourceData.id))
          return made.every((id) => ids.has(id))
        })
        assert.ok(of(subscription).length >= made.length)
      }
      await change()
      await settle()
      await client.kill()
      for (let count = 0; count < 5; count++) await change()
      await waitUntil('failed attempts', async () => {
        const [row] = await sql<{ attempts: number }[]>`
        select attempts from change_subscription where id = ${subscription.id} and next_attempt_at > now()`
        return (row?.attempts ?? 0) >= 2
      })
      await client.start()
      await settle()
      client.status = 500
      await change()
      await waitUntil('a refused attempt', async () => {
        const [row] = await sql<
          { attempts: number }[]
        >`select attempts from change_subscription where id = ${subscription.id}`
        return (row?.attempts ?? 0) >= 1
      })

      // Another node, which shares the store: between both, no notification is sent twice when the client takes it.
      const second = await startService({
        settings: readSettings({
          MASQUERADE_DATA_DIR: service.dataDir,
          MASQUERADE_DATABASE_URL: service.databaseUrl,
          MASQUERADE_HTTP_PORT: '0',
          MASQUERADE_HTTPS_PORT: '0',
          MASQUERADE_GATEWAY_PORT: '0',
          MASQUERADE_GATEWAY_WORKERS: '1',
          ...environment,
        }),
        log: pino({ level: 'silent' }),
      })
      try {
        client.status = 202
        await settle()
        for (let count = 0; count < 10; count++) await change()
        await settle()
        const ids = of(subscription).map(({ id }) => id)
        assert.equal(ids.length, new Set(ids).size)
      } finally {
        await second.stop()
      }
      await end(subscription)
    },
  )

  clause(
    'DIR-291',
    "A creator's subscriptions have two of the eight places in which a node delivers at a time, and creators take turns: …",
    async () => {
      const held: ServerResponse[] = []
      const seen = new Set<string>()
      let isSlow = true
      const slow = createServer(async (request, response) => {
        const text = (await request.toArray()).join('')
        const token = new URL(request.url ?? '', 'http://slow').searchParams.get('validationToken')
        if (token !== null) return void response.writeHead(200, { 'content-type': 'text/plain' }).end(token)
        seen.add(JSON.parse(text).value[0].subscriptionId)
        if (isSlow) held.push(response)
        else response.writeHead(202).end()
      })
      slow.listen(0, '127.0.0.1')
      await once(slow, 'listening')
      const notificationUrl = `http://127.0.0.1:${(slow.address() as AddressInfo).port}`
      const principal = await fillDirectory(service).user()
      const reader = service.tokenFor({ principal, permissions: ['Group.Read.All'] })
      const starving = 12
      for (let i = 0; i < starving; i++) {
        const body = wanted({ notificationUrl })
        const { status, text } = await service.request('POST', '/v1.0/subscriptions', { token: reader, body })
        assert.equal(status, 201, text)
      }
      const subscription = await subscribe()
      for (let changes = 1; changes <= 3; changes++) {
        await newGroup()
        await hears(subscription, changes)
      }
      await waitUntil('the slow client holds its places', () => held.length === 2)
      const heldAt = performance.now()
      await waitUntil('its answers are slow', () => performance.now() - heldAt > 2_200)
      assert.equal(held.length, 2, 'no more than two at once')
      const first = [...seen]
      const [release] = await service.database.sql<{ at: Date }[]>`select now() as at`
      isSlow = false
      for (const response of held) response.writeHead(202).end()
      await waitUntil('all its subscriptions had their turn', () => seen.size === starving)
      await waitUntil('the answers are recorded', async () => {
        const left = await service.database.sql`
          select from change_subscription where id = any(${first}::uuid[]) and lease is not null`
        return left.count === 0
      })
      const paused = await service.database.sql`
        select from change_subscription where id = any(${first}::uuid[])
          and next_attempt_at > ${release?.at.toISOString() ?? ''}::timestamptz + interval '4 seconds'`
      assert.equal(paused.count, 2, 'slow clients pause')
      await end(subscription)
      await service.database.sql`delete from change_subscription where notification_url = ${notificationUrl}`
      slow.closeAllConnections()
      await new Promise((resolve) => slow.close(resolve))
    },
  )

  clause(
    'DIR-269',
    'When changes cannot be told any more, because they are older than the log or passed the service by, …',
    async () => {
      const { sql } = service.database
      const subscription = await subscribe({ lifecycleNotificationUrl: `${client.url}/lifecycle` })
      const { id } = await newGroup()
      await hears(subscription, 1)
      await sql`update directory_object set properties = properties || '{"description": "past"}' where id = ${id}`
      await waitUntil('the event', () => client.lifecycle.length > 0)
      const [missed] = client.lifecycle
      assert.deepEqual(
        [missed.lifecycleEvent, missed.subscriptionId, missed.clientState],
        ['missed', subscription.id, 'only we know'],
      )
      await rename(id, 'After')
      assert.equal((await hears(subscription, 2))[1].changeType, 'updated')
      await end(subscription)
    },
  )

  clause(
    'DIR-270',
    'Notifications go by HTTPS, or by HTTP to this machine, and only to public addresses, unless …',
    async () => {
      for (const notificationUrl of [
        'http://example.com/x',
        'ftp://127.0.0.1/x',
        'https://user:secret@example.com/',
        'https://10.1.2.3/',
        'https://169.254.169.254/latest',
        'https://[::1]/',
        'https://[::ffff:10.0.0.1]/',
        'https://127.0.0.2/',
        'x',
      ]) {
        const { body } = await call('POST', '/subscriptions', 400, wanted({ notificationUrl }))
        assert.match(
          body.error.message,
          /^The notification address cannot be used: it must (be an HTTPS address|answer)/,
        )
      }
      const guard = (entries: string[], ...addresses: string[]) =>
        createPublicGuard(entries, async () => addresses)('a.example', 443).then(
          () => 'passes',
          (error) => error.code,
        )
      assert.equal(await guard([], '93.184.215.14'), 'passes')
      assert.equal(await guard([], '93.184.215.14', '192.168.1.1'), 'EHOSTREFUSED')
      assert.equal(await guard(['192.168.0.0/16'], '93.184.215.14', '192.168.1.1'), 'passes')
      for (const address of [
        '127.0.0.1',
        '100.64.0.1',
        '172.31.0.1',
        '::1',
        'fd00::1',
        '64:ff9b::a00:1',
        '2002:a00:1::',
        '0.0.0.0',
      ])
        assert.equal(await guard([], address), 'EHOSTREFUSED', address)
    },
  )

  clause(
    'DIR-271',
    'No notification is sent for a creator who is deleted, disabled or whose tokens were voided since …',
    async () => {
      const { sql } = service.database
      const subscription = await subscribe()
      const creator = subscription.creatorId
      const enable = (isEnabled: boolean) =>
        sql`update directory_object set properties = properties || ${sql.json({ accountEnabled: isEnabled })} where id = ${creator}`
      await enable(false)
      await waitUntil('an attempt', async () => {
        const [row] = await sql<
          { attempts: number }[]
        >`select attempts from change_subscription where id = ${subscription.id}`
        return (row?.attempts ?? 0) >= 1
      })
      assert.deepEqual(of(subscription), [])
      await enable(true)
      // Those of before ended for good (TOK-121).
      const renew = async () => {
        token = service.tokenFor({ kind: 'application', permissions: everything })
        const body = { expirationDateTime: inMinutes(60) }
        return await service.request('PATCH', `/v1.0/subscriptions/${subscription.id}`, { token, body })
      }
      await waitUntil('the account to count again', async () => (await renew()).status === 200)
      await sql`update change_subscription set next_attempt_at = now() where id = ${subscription.id}`
      // The change of the account passed the service by: changes before the service notices it are not told (DIR-269).
      await waitUntil('a delivery', async () => {
        const [row] = await sql<
          { attempts: number }[]
        >`select attempts from change_subscription where id = ${subscription.id}`
        return row?.attempts === 0
      })
      await newGroup()
      await hears(subscription, 1)
      await end(subscription)
    },
  )
})
