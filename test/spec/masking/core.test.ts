import assert from 'node:assert/strict'
import { clause } from '../../support/clause.ts'
import { emailRule, freshDatabase, policyUrl, rulesUrl, ruleUrl, useMasking } from '../../support/masking.ts'

const { service, send, putRule, listRules, getPolicy, putPolicy } = useMasking()

const envelope = ['id', 'kind', 'location', 'name', 'properties', 'type']

clause(
  'MASK-01',
  'Masking is managed per database of a server: the rules and the policy of one database are neither seen nor changed through the address of another.',
  async () => {
    const [db, other] = [freshDatabase(), freshDatabase()]
    await putRule(db, 'mail', emailRule)
    await putPolicy(db, { dataMaskingState: 'Disabled', exemptPrincipals: 'auditor' })
    assert.deepEqual(await listRules(other), [])
    assert.equal((await send('GET', ruleUrl(other, 'mail'))).status, 404)
    assert.equal((await getPolicy(other)).body.properties.exemptPrincipals, '')
    assert.equal((await send('DELETE', ruleUrl(other, 'mail'))).status, 204)
    assert.equal((await listRules(db)).length, 1)
    for (const elsewhere of [
      db.replace('sub-1', 'sub-2'),
      db.replace('Group-1', 'Group-2'),
      db.replace('Srv', 'Srv2'),
    ])
      assert.deepEqual(await listRules(elsewhere), [])
  },
)

clause(
  'MASK-02',
  'A database has exactly one masking policy, and its name is always `Default`.',
  async () => {
    const db = freshDatabase()
    assert.equal((await getPolicy(db)).body.name, 'Default')
    const other = await send('PUT', `${db}/dataMaskingPolicies/Second`, {
      properties: { dataMaskingState: 'Enabled' },
    })
    assert.equal(other.status, 404)
  },
)

clause(
  'MASK-03',
  'The policy holds any number of rules; a rule is for one column, given by schema, table and column, and names one masking function.',
  async () => {
    const db = freshDatabase()
    for (const columnName of ['a', 'b', 'c'])
      assert.equal((await putRule(db, `rule ${columnName}`, { ...emailRule, columnName })).status, 201)
    const rules = await listRules(db)
    assert.deepEqual(
      rules.map((rule: { properties: Record<string, string> }) => [
        rule.properties.schemaName,
        rule.properties.tableName,
        rule.properties.columnName,
        rule.properties.maskingFunction,
      ]),
      ['a', 'b', 'c'].map((column) => ['public', 'person', column, 'Email']),
    )
  },
)

clause(
  'MASK-04',
  'The policy can be on or off, and lists the exempt database users, who get results without masks.',
  async () => {
    const db = freshDatabase()
    for (const dataMaskingState of ['Enabled', 'Disabled', 'Enabled']) {
      await putPolicy(db, { dataMaskingState, exemptPrincipals: 'auditor;dba' })
      const { properties } = (await getPolicy(db)).body
      assert.equal(properties.dataMaskingState, dataMaskingState)
      assert.equal(properties.exemptPrincipals, 'auditor;dba')
    }
  },
)

clause(
  'MASK-05',
  'Three operations make up the core of the API: a PUT that creates or updates a rule, a GET that lists the rules, and a GET of the policy.',
  async () => {
    const db = freshDatabase()
    assert.equal((await putRule(db, 'r', emailRule)).status, 201)
    assert.equal((await putRule(db, 'r', { ...emailRule, maskingFunction: 'Default' })).status, 200)
    assert.equal((await send('GET', rulesUrl(db))).status, 200)
    assert.equal((await send('GET', policyUrl(db))).status, 200)
  },
)

clause(
  'MASK-06',
  'Removing a rule needs no operation of its own: the create-or-update PUT does it, as MASK-50 says.',
  async () => {
    const db = freshDatabase()
    await putRule(db, 'r', emailRule)
    await putRule(db, 'r', { ...emailRule, ruleState: 'Disabled' })
    assert.deepEqual(await listRules(db), [])
  },
)

clause(
  'MASK-07',
  '`subscriptionId` is a required string in the path and identifies the subscription.',
  checkParameter('subscriptionId', /(?<=\/subscriptions\/)[^/]+/),
)

clause(
  'MASK-08',
  '`resourceGroupName` is a required string in the path: the resource group in which the server is.',
  checkParameter('resourceGroupName', /(?<=\/resourceGroups\/)[^/]+/),
)

clause(
  'MASK-09',
  '`serverName` is a required string in the path: the name of the server.',
  checkParameter('serverName', /(?<=\/servers\/)[^/]+/),
)

clause(
  'MASK-10',
  '`databaseName` is a required string in the path: the name of the database.',
  checkParameter('databaseName', /(?<=\/databases\/)[^/]+/),
)

function checkParameter(name: string, segment: RegExp) {
  return async () => {
    const db = freshDatabase()
    const named = db.replace(segment, encodeURIComponent('Größe 7 & co.'))
    const answer = await putRule(named, 'r', emailRule)
    assert.equal(answer.status, 201)
    assert.ok(answer.body.id.includes('/Größe 7 & co./'), answer.body.id)
    assert.equal((await listRules(named)).length, 1)
    assert.deepEqual(await listRules(db), [])

    for (const wrong of ['', 'a%2Fb', 'a%00b', '%20a', 'x'.repeat(129)]) {
      const refused = await putRule(db.replace(segment, wrong), 'r', emailRule)
      assert.equal(refused.status, 400, `${name} '${wrong}'`)
      assert.equal(refused.body.error.code, 'InvalidResourceName')
      assert.equal(refused.body.error.target, name)
    }
  }
}

clause(
  'MASK-11',
  '`dataMaskingPolicyName` is required in the path and can only be the literal `Default`.',
  async () => {
    const db = freshDatabase()
    assert.equal((await getPolicy(db)).status, 200)
    for (const name of ['Other', 'Default2', 'Defaul', ''])
      assert.equal((await send('GET', `${db}/dataMaskingPolicies/${name}`)).status, 404, name)
  },
)

clause(
  'MASK-12',
  '`dataMaskingRuleName` is a string in the path, required by the rule PUT only: the name of the rule.',
  async () => {
    const db = freshDatabase()
    assert.equal((await send('PUT', rulesUrl(db), { properties: emailRule })).status, 405)
    const answer = await putRule(db, 'name of a rule', emailRule)
    assert.ok(answer.body.id.endsWith('/rules/name of a rule'))
    assert.equal((await send('GET', rulesUrl(db))).status, 200)
  },
)

clause(
  'MASK-13',
  '`api-version` is a required string in the query of every operation, with the value `2014-04-01`.',
  async () => {
    const db = freshDatabase()
    const core: [string, string, unknown?][] = [
      ['PUT', ruleUrl(db, 'r'), { properties: emailRule }],
      ['GET', rulesUrl(db)],
      ['GET', policyUrl(db)],
    ]
    for (const [method, url, body] of core) {
      assert.equal((await send(method, `${url}?`, body)).status, 400, url)
      assert.equal((await send(method, `${url}?api-version=2014-04-02`, body)).status, 400, url)
    }
    assert.deepEqual(await listRules(db), [])
    for (const [method, url, body] of core)
      assert.ok((await send(method, `${url}?api-version=2014-04-01`, body)).status < 300, url)
  },
)

clause(
  'MASK-14',
  'A rule and a policy are both answered in one envelope with the fields `id`, `name`, `type`, `location`, `kind` and `properties`.',
  async () => {
    const db = freshDatabase()
    const rule = await putRule(db, 'r', emailRule)
    assert.deepEqual(Object.keys(rule.body).sort(), envelope)
    assert.deepEqual(Object.keys((await listRules(db))[0]).sort(), envelope)
    assert.deepEqual(Object.keys((await getPolicy(db)).body).sort(), envelope)
  },
)

clause('MASK-15', '`id` is a string in the form of a path that identifies the resource.', async () => {
  const db = freshDatabase()
  assert.equal((await putRule(db, 'r', emailRule)).body.id, ruleUrl(db, 'r'))
  const policy = (await getPolicy(db)).body
  assert.equal(policy.id, policyUrl(db))
  assert.deepEqual((await send('GET', policy.id)).body, policy)

  const odd = (await putRule(db, 'a/b?c#d%e', { ...emailRule, columnName: 'odd' })).body
  assert.deepEqual((await send('GET', odd.id)).body, odd)
})

clause('MASK-16', '`name` is null on every rule.', async () => {
  const db = freshDatabase()
  assert.equal((await putRule(db, 'r', emailRule)).body.name, null)
  assert.equal((await listRules(db))[0].name, null)
})

clause('MASK-17', '`name` is `Default` on the policy.', async () => {
  assert.equal((await getPolicy(freshDatabase())).body.name, 'Default')
})

clause(
  'MASK-18',
  '`type` of a rule is `Vendor.Sql/servers/databases/dataMaskingPolicies/rules`.',
  async () => {
    const { body } = await putRule(freshDatabase(), 'r', emailRule)
    assert.equal(body.type, 'Vendor.Sql/servers/databases/dataMaskingPolicies/rules')
  },
)

clause('MASK-19', '`type` of the policy is `Vendor.Sql/servers/databases/dataMaskingPolicies`.', async () => {
  const { body } = await getPolicy(freshDatabase())
  assert.equal(body.type, 'Vendor.Sql/servers/databases/dataMaskingPolicies')
})

clause('MASK-20', '`location` is a string: where the resource is.', async () => {
  const db = freshDatabase()
  assert.equal(typeof (await getPolicy(db)).body.location, 'string')
  await send('PUT', db, { location: 'rack 7' })
  assert.equal((await putRule(db, 'r', emailRule)).body.location, 'rack 7')
  assert.equal((await getPolicy(db)).body.location, 'rack 7')
})

clause('MASK-21', '`kind` is a string or null, meant for a management portal.', async () => {
  const db = freshDatabase()
  for (const { kind } of [(await putRule(db, 'r', emailRule)).body, (await getPolicy(db)).body])
    assert.ok(kind === null || typeof kind === 'string')
})

clause('MASK-22', '`properties` is an object with the fields of the rule or of the policy.', async () => {
  const db = freshDatabase()
  const rule = (await putRule(db, 'r', emailRule)).body.properties
  assert.equal(rule.columnName, 'email')
  assert.equal(rule.dataMaskingState, undefined)
  assert.deepEqual(Object.keys((await getPolicy(db)).body.properties).sort(), [
    'applicationPrincipals',
    'dataMaskingState',
    'exemptPrincipals',
    'maskingLevel',
  ])
})

clause(
  'MASK-123',
  'Subscriptions, resource groups, servers and databases have names of 1 to 128 characters without control characters, `/`, `\\`, `?`, `#` and `%`, and without a space at either end; any other name is 400 `InvalidResourceName`.',
  async () => {
    const db = freshDatabase()
    const place = (name: string) => db.replace(/[^/]+$/, encodeURIComponent(name))
    for (const name of ['x', 'x'.repeat(128), "o'hara", 'a.b-c_d', 'naïve 日本 🙂', '$$', '[x]', '*'])
      assert.equal((await putRule(place(name), 'r', emailRule)).status, 201, name)
    for (const name of [
      'a/b',
      'a\\b',
      'a?b',
      'a#b',
      'a%b',
      'a\nb',
      ' a',
      'a ',
      'x'.repeat(129),
      '🙂'.repeat(100),
    ]) {
      const { status, body } = await putRule(place(name), 'r', emailRule)
      assert.equal(status, 400, name)
      assert.equal(body.error.code, 'InvalidResourceName')
    }
  },
)

clause(
  'MASK-170',
  'Rules, the policy, servers and databases also answer to the later versions of the original…',
  async () => {
    const db = freshDatabase('Microsoft.Sql')
    const server = db.replace(/\/databases\/.*/, '')
    for (const version of [
      '2021-11-01',
      '2022-08-01-preview',
      '2023-08-01',
      '2024-05-01-preview',
      '2025-01-01',
    ]) {
      const query = `?api-version=${version}`
      const put = await send('PUT', ruleUrl(db, 'mail') + query, { properties: emailRule })
      assert.ok(put.status < 300, version)
      assert.equal(put.body.name, 'mail')
      assert.equal((await send('GET', ruleUrl(db, 'mail') + query)).body.name, 'mail')
      const list = await send('GET', rulesUrl(db) + query)
      assert.deepEqual(
        list.body.value.map((rule: { name: string }) => rule.name),
        ['mail'],
      )
      assert.deepEqual(Object.keys(put.body).sort(), envelope)
      const policy = await send('PUT', policyUrl(db) + query, { properties: { dataMaskingState: 'Enabled' } })
      assert.deepEqual([policy.status, policy.body.name], [200, 'Default'])
      for (const path of [server, db])
        assert.ok((await send('PUT', path + query, { location: 'here' })).status < 300, path + query)
    }
    assert.equal((await send('GET', ruleUrl(db, 'mail'))).body.name, null)
    assert.equal((await send('GET', `${rulesUrl(db)}?api-version=2031-01-01`)).status, 400)
  },
)

clause(
  'MASK-171',
  'What client libraries send about a server or database that means nothing here is taken and ignored:…',
  async () => {
    const db = freshDatabase('Microsoft.Sql')
    const server = db.replace(/\/databases\/.*/, '')
    const version = '?api-version=2023-08-01'
    const login = {
      administratorLogin: 'sa',
      administratorLoginPassword: 'Sesame-2026-opens',
      version: '12.0',
    }
    const put = await send('PUT', server + version, { location: 'here', properties: login })
    assert.ok(put.status < 300)
    assert.doesNotMatch(JSON.stringify(put.body), /Sesame/)
    const { sql } = service().database
    const [audit] = await sql<{ count: number }[]>`
      select count(*)::int as count from audit_event e where to_jsonb(e)::text like '%Sesame%'`
    assert.equal(audit?.count, 0)
    const sku = { name: 'S0', tier: 'Standard' }
    const properties = { collation: 'C', maxSizeBytes: 1, createMode: 'Default', zoneRedundant: false }
    assert.ok((await send('PUT', db + version, { location: 'here', sku, properties })).status < 300)
    for (const [path, refused] of [
      [server, { publicNetworkAccess: 'Disabled' }],
      [db, { sourceDatabaseId: server }],
    ] as const) {
      const { status, body } = await send('PUT', path + version, { properties: refused })
      assert.equal(status, 400)
      assert.match(body.error.message, new RegExp(Object.keys(refused)[0] ?? ''))
    }
  },
)

clause('MASK-186', "Settings of a server's network are taken where they are so anyway:…", async () => {
  const db = freshDatabase('Microsoft.Sql')
  const server = db.replace(/\/databases\/.*/, '')
  const version = '?api-version=2023-08-01'
  const open = {
    minimalTlsVersion: '1.2',
    publicNetworkAccess: 'Enabled',
    restrictOutboundNetworkAccess: 'Disabled',
    createMode: 'Normal',
    administrators: { azureADOnlyAuthentication: false },
  }
  assert.ok((await send('PUT', server + version, { location: 'here', properties: open })).status < 300)
  for (const [name, value] of Object.entries({
    minimalTlsVersion: '1.3',
    publicNetworkAccess: 'Disabled',
    restrictOutboundNetworkAccess: 'Enabled',
    createMode: 'Restore',
    administrators: { login: 'admin', sid: 'b2bc3882-177b-4e22-bf57-cc1ce26129c9' },
  })) {
    const { status, body } = await send('PUT', server + version, { properties: { [name]: value } })
    assert.equal(status, 400)
    assert.match(body.error.message, new RegExp(name))
  }
  const put = await send('PUT', db + version, { location: 'here' })
  assert.deepEqual(put.body.sku, { name: 'PostgreSQL', tier: 'PostgreSQL' })
  assert.equal(put.body.properties.status, 'Online')
  assert.deepEqual((await send('GET', db + version)).body.sku, put.body.sku)
  assert.ok((await send('PUT', db + version, put.body)).status < 300, 'what was read can be sent back')
  const exact = (await send('GET', db)).body
  assert.equal('sku' in exact || 'status' in exact.properties, false)
})
