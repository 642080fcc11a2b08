import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { useBoundDatabase } from '../../support/bound-database.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory } from '../../support/directory.ts'
import { bindingOf } from '../../support/masked-database.ts'
import { apiVersion, freshDatabase, policyUrl } from '../../support/masking.ts'

interface Shown {
  readonly code: string
  readonly severity: string
  readonly objects: readonly object[]
  readonly roles: readonly string[]
  readonly explanation: string
  readonly remedy: string | null
}

interface Closed extends Shown {
  readonly foundDateTime: string
  readonly closedDateTime: string
}

const callerOf = (token: string): string =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()).oid

describe('looking into a bound database', () => {
  const { masking, db, bound } = useBoundDatabase()

  const preview = (body: object, token?: string) =>
    token === undefined
      ? masking.send('POST', `${policyUrl(db)}/preview`, body)
      : masking.service().request('POST', `${policyUrl(db)}/preview?${apiVersion}`, { token, body })
  const person = { schemaName: 'public', tableName: 'person' }
  const openDefiner = () =>
    bound().database.sql.unsafe(`create function public.peek() returns setof text language sql security definer
      as 'select email from public.person'; revoke execute on function public.peek() from public;
      grant execute on function public.peek() to "${bound().role('analyst')}"`)

  clause(
    'MASK-110',
    '`{db}/dataMaskingPolicies/Default/exposures` lists the ways around the masks that are still open.',
    async () => {
      await openDefiner()
      const { status, headers, body } = await masking.send('GET', `${policyUrl(db)}/exposures`)
      assert.equal(status, 200)
      assert.equal(headers.get('x-masquerade-enforcement'), 'Enforced')
      const found = body.value.find(
        (one: { code: string; roles: string[] }) =>
          one.code === 'SecurityDefinerFunction' && one.roles.includes(bound().role('analyst')),
      )
      assert.equal(found.severity, 'high')
      assert.match(found.remedy, /^REVOKE EXECUTE ON ROUTINE public\.peek\(\) FROM/)
      await bound().database.sql.unsafe('drop function public.peek()')
      const after = await masking.send('GET', `${policyUrl(db)}/exposures`)
      assert.ok(
        !JSON.stringify(
          after.body.value.filter((one: { code: string }) => one.code === 'SecurityDefinerFunction'),
        ).includes(bound().role('analyst')),
      )
    },
  )

  clause(
    'MASK-219',
    '`closed` of the exposures lists those that an earlier look of any caller found and the last look did not…',
    async () => {
      const [analyst, other] = [bound().role('analyst'), await bound().createRole('other')]
      const run = (statement: string) => bound().database.sql.unsafe(statement)
      const list = async () => (await masking.send('GET', `${policyUrl(db)}/exposures`)).body
      // Roles are those of the server, and other tests have theirs there: this exposure is of a table of its own.
      const ofTable = (all: readonly Shown[]) =>
        all.filter(({ objects }) => JSON.stringify(objects).includes('letter'))
      const make = `create table public.letter (id int, email text); grant select on public.letter to "${analyst}"`
      await run(make)
      const [open] = ofTable((await list()).value)
      assert.ok(open)
      assert.ok(open.roles.includes(analyst))
      await run(`grant select on public.letter to "${other}"`)
      const joined = await list()
      assert.ok(ofTable(joined.value)[0]?.roles.includes(other))
      assert.deepEqual(ofTable(joined.closed), [], 'another role on the way closes nothing')

      await run('drop table public.letter')
      const [closed, ...others] = ofTable((await list()).closed) as Closed[]
      assert.deepEqual(others, [])
      assert.ok(closed)
      const { foundDateTime, closedDateTime, ...rest } = closed
      const { code, severity, objects } = open
      assert.deepEqual(
        { ...rest, roles: rest.roles.includes(other), explanation: '' },
        { code, severity, objects, roles: true, explanation: '' },
      )
      assert.ok(foundDateTime < closedDateTime)
      const service = masking.service()
      const token = service.tokenFor({ role: 'Reader' })
      const again = await service.request('GET', `${policyUrl(db)}/exposures?${apiVersion}`, { token })
      assert.deepEqual(ofTable(again.body.closed), [closed], 'another caller sees it, and when it was closed')

      await run(make)
      assert.deepEqual(ofTable((await list()).closed), [], 'what is open again is not closed')
      await run('drop table public.letter')
      await list()
      await service.database
        .sql`update found_exposure set closed_at = now() - interval '93 days' where closed_at is not null`
      assert.deepEqual(ofTable((await list()).closed), [])
    },
  )

  clause(
    'ENF-101',
    'An exposure has a code, a severity (high, medium or low), the objects and roles concerned, an…',
    async () => {
      const analyst = bound().role('analyst')
      const list = async () => (await masking.send('GET', `${policyUrl(db)}/exposures`)).body.value as Shown[]
      const own = ({ code, roles }: Shown) => code === 'SecurityDefinerFunction' && roles.includes(analyst)
      await openDefiner()
      const before = await list()
      for (const one of before) {
        assert.deepEqual(Object.keys(one).sort(), [
          'code',
          'consequences',
          'explanation',
          'objects',
          'remedy',
          'roles',
          'rule',
          'severity',
        ])
        assert.ok(['high', 'medium', 'low'].includes(one.severity) && one.explanation.length > 40)
        assert.ok(one.objects.length > 0)
      }
      const [found] = before.filter(own)
      await bound().database.sql.unsafe(found?.remedy ?? '')
      assert.ok(found && !(await list()).some(own))
      await bound().database.sql.unsafe('drop function public.peek()')
    },
  )

  clause(
    'MASK-111',
    '`{db}/dataMaskingPolicies/Default/recommendations` lists columns that look sensitive, by their names and by sampled content.',
    async () => {
      const { status, body, text } = await masking.send('GET', `${policyUrl(db)}/recommendations`)
      assert.equal(status, 200)
      const of = (tableName: string, columnName: string) =>
        body.value.find(
          (one: { tableName: string; columnName: string }) =>
            one.tableName === tableName && one.columnName === columnName,
        )
      assert.equal(of('person', 'email'), undefined, 'a column with a rule is left out')
      assert.equal(of('person', 'contact').maskingFunction, 'Email')
      assert.match(of('person', 'contact').reasons[0], /^100 % of 30 sampled values/)
      assert.equal(of('person', 'card').maskingFunction, 'CCN')
      assert.equal(of('split', 'email').maskingFunction, 'Email')
      assert.equal(of('split_low', 'email'), undefined, 'a partition is part of its table')
      assert.equal(
        of('guarded', 'email').maskingFunction,
        'Email',
        'what cannot be read is judged by its name',
      )
      assert.equal(of('person', 'note'), undefined)
      for (const value of ['zelda', 'link1', 'secret-mail', '4111']) assert.ok(!text.includes(value), value)
    },
  )

  clause(
    'ENF-104',
    'Recommendations have a confidence from 0 to 1 with its reasons and the function that suits the column; columns that have a rule are left out, and no sampled value is in them.',
    async () => {
      const { body, text } = await masking.send('GET', `${policyUrl(db)}/recommendations`)
      assert.ok(body.value.length >= 3)
      for (const { confidence, reasons, maskingFunction } of body.value) {
        assert.ok(confidence > 0 && confidence <= 1)
        assert.ok(reasons.length > 0)
        assert.ok(['CCN', 'Default', 'Email', 'Number', 'SSN', 'Text'].includes(maskingFunction))
      }
      const columns = body.value.map(
        (one: { tableName: string; columnName: string }) => `${one.tableName}.${one.columnName}`,
      )
      assert.ok(columns.includes('person.contact') && !columns.includes('person.email'))
      const values = await bound().database.sql<{ contact: string }[]>`select contact from public.person`
      for (const { contact } of values) assert.ok(!text.includes(contact))
    },
  )

  clause(
    'MASK-112',
    '`{db}/dataMaskingPolicies/Default/preview` shows a masked sample; raw values are in it only for a caller who is exempt.',
    async () => {
      const { status, body, text } = await preview({ ...person, top: 3 })
      assert.equal(status, 200, text)
      assert.equal(body.rows.length, 3)
      const email = { name: 'email', type: 'text', maskingFunction: 'Email', isDraft: false }
      assert.deepEqual(body.columns[1], email)
      assert.equal(body.rows[0].values[1], 'zXXX@XXXX.com')
      assert.equal(body.rows[0].raw, undefined)
      assert.ok(!text.includes('zelda'))

      const service = masking.service()
      const token = service.tokenFor({ role: 'Owner' })
      const exempt = callerOf(token)
      assert.ok(!(await preview(person, token)).text.includes('zelda'))
      for (const entry of [exempt, `CALLER-${exempt}@example.com`]) {
        await masking.putPolicy(db, { dataMaskingState: 'Enabled', exemptPrincipals: `somebody;${entry}` })
        const seen = await preview({ ...person, top: 1 }, token)
        assert.match(seen.body.rows[0].raw[1], /^zelda\d+@/)
        assert.equal(seen.body.rows[0].values[1], 'zXXX@XXXX.com')
      }
      await masking.putPolicy(db, { dataMaskingState: 'Enabled', exemptPrincipals: '' })
    },
  )

  clause(
    'MASK-218',
    '`GET {db}/schemas/{schema}/tables/{table}/roles` lists up to 50 database roles with what their privileges…',
    async () => {
      const { database, role, createRole } = bound()
      const [analyst, auditor, stranger] = [
        role('analyst'),
        await createRole('auditor'),
        await createRole('stranger'),
      ]
      await database.sql.unsafe(`grant select on public.person to "${auditor}"`)
      await masking.putPolicy(db, { dataMaskingState: 'Enabled', exemptPrincipals: auditor })
      const path = (table: string, search: string) =>
        `${db}/schemas/public/tables/${table}/roles?search=${encodeURIComponent(search)}&${apiVersion}`
      const seen = async (name: string) => {
        const { status, body, text } = await masking.send('GET', path('person', name))
        assert.equal(status, 200, text)
        return body.value[0]
      }
      const all = ['id', 'email', 'contact', 'card', 'pay', 'note']
      const others = all.filter((name) => name !== 'email')
      assert.deepEqual(await seen(analyst), {
        role: analyst,
        canLogIn: true,
        keepsRaw: false,
        rawColumns: others,
        maskedColumns: ['email'],
      })
      assert.deepEqual(await seen(auditor), {
        role: auditor,
        canLogIn: true,
        keepsRaw: true,
        rawColumns: all,
        maskedColumns: [],
      })
      const nothing = await seen(stranger)
      assert.deepEqual([nothing.rawColumns, nothing.maskedColumns, nothing.keepsRaw], [[], [], false])

      const every = (await masking.send('GET', path('person', ''))).body.value as { role: string }[]
      assert.ok(every.length <= 50 && every.every((one) => !/^(pg_|masquerade_twins_)/.test(one.role)))
      assert.deepEqual((await masking.send('GET', path('person', 'no such role'))).body.value, [])
      assert.equal((await masking.send('GET', path('nothing', ''))).body.error.code, 'ResourceNotFound')
      assert.equal((await masking.send('GET', path('person', 'a\0b'))).status, 400)
      const service = masking.service()
      const token = service.tokenFor({})
      const refused = await service.request('GET', path('person', ''), { token })
      assert.equal(refused.status, 403)
      await masking.putPolicy(db, { dataMaskingState: 'Enabled', exemptPrincipals: '' })
    },
  )

  clause(
    'MASK-229',
    'The list of the roles of a table has a `nextLink` while more follow in the order of their names; it keeps `search`.',
    async () => {
      const { createRole } = bound()
      const made: string[] = []
      for (let at = 0; at < 53; at++)
        made.push(await createRole(`crowd${String(at).padStart(2, '0')}`, 'NOLOGIN'))
      const first = await masking.send(
        'GET',
        `${db}/schemas/public/tables/person/roles?search=crowd&${apiVersion}`,
      )
      const namesOf = (body: { value: { role: string }[] }) => body.value.map(({ role }) => role)
      assert.equal(first.body.value.length, 50)
      const next = await masking.send('GET', first.body.nextLink)
      assert.deepEqual([...namesOf(first.body), ...namesOf(next.body)], made.toSorted())
      assert.equal(next.body.nextLink, undefined)
      const wrong = `${db}/schemas/public/tables/person/roles?$skipToken=x&${apiVersion}`
      assert.equal((await masking.send('GET', wrong)).status, 400)
    },
  )

  clause('ENF-106', 'A member of an exempt group, at any depth, is an exempt caller.', async () => {
    const service = masking.service()
    const directory = fillDirectory(service)
    const token = service.tokenFor({ role: 'Contributor' })
    await service.tokens.settled()
    const caller = callerOf(token)
    const [outer, inner] = [await directory.group(), await directory.group()]
    await directory.join(caller, inner)
    await directory.join(inner, outer)
    assert.ok(!(await preview(person, token)).text.includes('zelda'))
    await masking.putPolicy(db, { dataMaskingState: 'Enabled', exemptPrincipals: outer })
    assert.ok((await preview(person, token)).text.includes('zelda'))
    await masking.putPolicy(db, { dataMaskingState: 'Enabled', exemptPrincipals: '' })
  })

  clause(
    'ENF-105',
    'A preview shows stored rules whether or not the policy is on, and a rule sent with the…',
    async () => {
      const rule = {
        columnName: 'contact',
        maskingFunction: 'Text',
        prefixSize: '2',
        replacementString: '***',
      }
      const { body, status, text } = await preview({ ...person, rule, top: 1 })
      assert.equal(status, 200, text)
      assert.equal(body.rows[0].values[2], 'li***')
      assert.equal(body.rows[0].values[1], 'zXXX@XXXX.com')
      assert.equal((await masking.listRules(db)).length, 1)

      await masking.putPolicy(db, { dataMaskingState: 'Disabled', exemptPrincipals: '' })
      assert.ok(!(await preview(person)).text.includes('zelda'))
      await masking.putPolicy(db, { dataMaskingState: 'Enabled', exemptPrincipals: '' })

      const reader = masking.service().tokenFor({ role: 'Reader' })
      assert.equal((await preview(person, reader)).status, 403)
      const manager = masking.service().tokenFor({ role: 'SQL Security Manager' })
      assert.equal((await preview(person, manager)).status, 200)
      // Verifiers of passwords are in this catalog.
      const verifiers = await preview({ schemaName: 'pg_catalog', tableName: 'pg_authid' }, manager)
      assert.ok(verifiers.status >= 400 && !verifiers.text.includes('SCRAM'), verifiers.text)
    },
  )

  clause(
    'MASK-129',
    'Every preview is audited with the table, the rule sent with it and whether raw values were…',
    async () => {
      const service = masking.service()
      const lastPreview = async () => {
        const [row] = await service.database.sql<
          { after: Record<string, unknown>; actor: { objectId: string } }[]
        >`
          select after, actor from audit_event where action = 'previewTable' order by id desc limit 1`
        return row
      }
      const weak = { maskingFunction: 'Text', prefixSize: '100', replacementString: 'x', suffixSize: '0' }
      const token = service.tokenFor({ role: 'SQL Security Manager' })
      for (const rule of [
        { columnName: 'email', ...weak },
        { columnName: 'email', maskingFunction: 'Default' },
      ]) {
        const refused = await preview({ ...person, rule }, token)
        assert.equal(refused.status, 403, refused.text)
        assert.equal(refused.body.error.code, 'DraftNeedsExemption')
        assert.ok(!refused.text.includes('zelda'))
      }
      const same = { columnName: 'email', maskingFunction: 'Email' }
      assert.equal((await preview({ ...person, rule: same }, token)).status, 200)
      const other = { columnName: 'contact', ...weak }
      assert.equal((await preview({ ...person, rule: other, top: 2 }, token)).status, 200)
      const seen = await lastPreview()
      assert.equal(seen?.actor.objectId, callerOf(token))
      assert.deepEqual(seen?.after, { ...person, top: 2, raw: false, rule: other })

      await masking.putPolicy(db, { dataMaskingState: 'Enabled', exemptPrincipals: callerOf(token) })
      const shown = await preview({ ...person, rule: { columnName: 'email', ...weak }, top: 1 }, token)
      assert.equal(shown.status, 200, shown.text)
      assert.equal((await lastPreview())?.after.raw, true)
      await masking.putPolicy(db, { dataMaskingState: 'Enabled', exemptPrincipals: '' })
    },
  )

  clause(
    'MASK-172',
    'The audit finds every entry of a resource, previews among them, in whichever case its caller wrote the path.',
    async () => {
      const written = db.replace('/servers/', '/SERVERS/').replace(/[^/]+$/, (name) => name.toUpperCase())
      for (const place of [db, written])
        assert.equal((await masking.send('POST', `${policyUrl(place)}/preview`, person)).status, 200)
      await masking.send('POST', `${policyUrl(written)}/suspend`, person)
      await masking.send('POST', `${policyUrl(written)}/resume`, person)
      const server = db.replace(/\/databases\/.*/, '')
      const group = server.replace(/\/servers\/.*/, '')
      for (const scope of [db, server, group]) {
        const { body } = await masking.send('GET', `${scope}/auditEvents?${apiVersion}&$top=1000`)
        const actions = body.value.slice(0, 4).map(({ action }: { action: string }) => action)
        assert.deepEqual(actions, ['resumeTable', 'suspendTable', 'previewTable', 'previewTable'], scope)
      }
      const unfolded = await masking.service().database.sql`
        select action, target from audit_event
        where target ~* '^/(subscriptions|providers)/' and target <> lower(target)`
      assert.deepEqual([...unfolded], [])
    },
  )

  test('a table is masked where one of its partitions is', async () => {
    await masking.putRule(db, 'low', {
      schemaName: 'public',
      tableName: 'split_low',
      columnName: 'email',
      maskingFunction: 'Email',
    })
    const split = { schemaName: 'public', tableName: 'split' }
    const { body } = await preview(split)
    assert.equal(body.rows[0].values[1], 'zXXX@XXXX.com')
    const weak = { columnName: 'email', maskingFunction: 'Text', prefixSize: '100', replacementString: '' }
    const refused = await preview({ ...split, rule: weak })
    assert.equal(refused.status, 403, refused.text)
  })

  const refused: [string, object, number, RegExp][] = [
    ['a table that is not there', { ...person, tableName: 'nobody' }, 400, /public.nobody is not a table/],
    ['a view', { ...person, tableName: 'people' }, 400, /public.people is not a table/],
    ['too many rows', { ...person, top: 51 }, 400, /top/],
    [
      'a column that is not there',
      { ...person, rule: { columnName: 'emial', maskingFunction: 'Email' } },
      400,
      /did you mean 'email'/,
    ],
    [
      'a function that does not fit',
      { ...person, rule: { columnName: 'pay', maskingFunction: 'Email' } },
      400,
      /does not fit/,
    ],
  ]
  for (const [what, body, status, reason] of refused)
    test(`no preview of ${what}`, async () => {
      const answer = await preview(body)
      assert.equal(answer.status, status)
      assert.match(answer.text, reason)
    })

  test('a database that is not bound has no exposures, no recommendations, and no preview', async () => {
    const other = freshDatabase()
    const empty = { exposures: { value: [], closed: [] }, recommendations: { value: [] } }
    for (const [resource, expected] of Object.entries(empty)) {
      const { status, headers, body } = await masking.send('GET', `${policyUrl(other)}/${resource}`)
      assert.equal(status, 200)
      assert.deepEqual(body, expected)
      assert.equal(headers.get('x-masquerade-enforcement'), 'NotBound')
    }
    const { status, body } = await masking.send('POST', `${policyUrl(other)}/preview`, person)
    assert.equal(status, 400)
    assert.equal(body.error.code, 'InvalidPreview')
  })

  clause(
    'ENF-107',
    'A failure in a bound database during an inspection is 503 `BoundDatabaseUnusable` with the…',
    async () => {
      const other = freshDatabase()
      await masking.send('PUT', other, {
        properties: { binding: { ...bindingOf(bound().url), port: 1 } },
      })
      for (const resource of ['exposures', 'recommendations']) {
        const { status, body } = await masking.send('GET', `${policyUrl(other)}/${resource}`)
        assert.equal(status, 503)
        assert.equal(body.error.code, 'BoundDatabaseUnusable')
        assert.match(body.error.message, /cannot be reached/)
      }
    },
  )
})
