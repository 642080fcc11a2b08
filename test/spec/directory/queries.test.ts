import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import { caller, everything } from '../../support/call.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory, type TestDirectory } from '../../support/directory.ts'
import { runs } from '../../support/runs.ts'
import { startTestService, type TestService } from '../../support/service.ts'

describe('queries', () => {
  let service: TestService
  let directory: TestDirectory
  let token: string
  const people: Record<string, string> = {}
  const groups: Record<string, string> = {}

  before(async () => {
    service = await startTestService()
    directory = fillDirectory(service)
    token = service.tokenFor({ kind: 'application', permissions: [...everything, 'GroupMember.Read.All'] })
    const add = async (name: string, more: Record<string, unknown>) => {
      people[name] = await directory.add('user', {
        displayName: name,
        userPrincipalName: `${name.toLowerCase()}@queries.example`,
        mailNickname: name,
        companyName: 'Queries',
        accountEnabled: true,
        ...more,
      })
    }
    await add('Ada', {
      department: 'Sales',
      city: 'Ulm',
      mail: 'ada@a.example',
      otherMails: ['Ada@x.example'],
    })
    await add('Bo', { department: 'sales', city: 'Bonn', mail: 'bo@b.example', userType: 'Guest' })
    await add('Cy', {
      department: 'Research',
      accountEnabled: false,
      employeeHireDate: '2026-01-02T00:00:00Z',
    })
    await add('Di', {
      mail: 'di@A.example',
      identities: [{ signInType: 'emailAddress', issuer: 'queries.example', issuerAssignedId: 'di' }],
    })
    groups.pair = await directory.group({ displayName: 'Pair' })
    groups.single = await directory.group({ displayName: 'Single' })
    groups.empty = await directory.unifiedGroup({ displayName: 'Empty', mail: 'empty@a.example' })
    await directory.join(people.Ada ?? '', groups.pair, groups.single)
    await directory.join(people.Bo ?? '', groups.pair)
    await service.database.sql`
      insert into owner_edge (tenant_id, object_id, owner_id)
      values (${service.tenantId}, ${groups.pair}, ${people.Cy ?? ''})`
  })
  after(() => service?.[Symbol.asyncDispose]())

  const call = caller(
    () => service,
    () => token,
  )
  const own = "companyName eq 'Queries' and "
  const names = async (set: string, filter: string, more = '') => {
    const { body } = await call('GET', `/${set}?$filter=${encodeURIComponent(filter)}${more}`, 200)
    return body.value.map(({ displayName }: { displayName: string }) => displayName).toSorted()
  }
  const users = (filter: string) => names('users', `${own}(${filter})`)

  clause(
    'DIR-200',
    '`$filter` takes `eq`, `ne`, `gt`, `ge`, `lt`, `le`, `in`, `startswith`, `endswith`, `not`, `and`, `or`, parentheses and `null` on the properties of directory objects …',
    async () => {
      const cases: [string, string[]][] = [
        ["department eq 'SALES'", ['Ada', 'Bo']],
        ["department ne 'Sales'", ['Cy', 'Di']],
        ['department eq null', ['Di']],
        ["department eq ''", []],
        ["department lt 'sales'", ['Cy']],
        ["department ge 'Sales'", ['Ada', 'Bo']],
        ["displayName gt 'bo' and displayName le 'DI'", ['Cy', 'Di']],
        ["endswith(mail,'@a.EXAMPLE')", ['Ada', 'Di']],
        ["not endswith(mail,'@a.example')", ['Bo', 'Cy']],
        ["endsWith(displayName,'y')", ['Cy']],
        ["endswith(city,'')", ['Ada', 'Bo']],
        ["city in ('ulm', 'BONN', null)", ['Ada', 'Bo', 'Cy', 'Di']],
        ["userType eq 'Member'", ['Ada', 'Cy', 'Di']],
        ['accountEnabled eq false', ['Cy']],
        ['employeeHireDate gt 2026-01-01T00:00:00Z', ['Cy']],
        ['employeeHireDate eq null', ['Ada', 'Bo', 'Di']],
        [`id in ('${people.Ada}', '${randomUUID()}')`, ['Ada']],
        ["not (department eq 'sales' or city eq 'Ulm') and accountEnabled eq true", ['Di']],
      ]
      for (const [filter, expected] of cases) assert.deepEqual(await users(filter), expected, filter)
      const app = await directory.add('application', {
        displayName: 'Web',
        appId: randomUUID(),
        web: { homePageUrl: 'https://web.example' },
      })
      const found = await call('GET', "/applications?$filter=web/homePageUrl eq 'https://WEB.example'", 200)
      assert.equal(found.body.value[0].id, app)
      for (const wrong of ["passwordProfile/password eq 'x'", "passwordProfile eq 'x'", "web eq 'x'"])
        await call('GET', `/users?$filter=${encodeURIComponent(wrong)}`, 400)
    },
  )

  clause(
    'DIR-201',
    '`any` and `all` filter by the items of a collection, and by the objects that a direct relation leads to …',
    async () => {
      const cases: [string, string[]][] = [
        ["otherMails/any(m:m eq 'ADA@X.example')", ['Ada']],
        ["otherMails/any(m:startswith(m,'ada'))", ['Ada']],
        ['otherMails/any()', ['Ada']],
        ["otherMails/all(m:endswith(m,'@x.example'))", ['Ada', 'Bo', 'Cy', 'Di']],
        ["identities/any(i:i/issuer eq 'queries.example' and i/issuerAssignedId eq 'di')", ['Di']],
        ["identities/any(i:i/issuer eq 'other.example')", []],
        [`memberOf/any(g:g/id eq '${groups.pair}')`, ['Ada', 'Bo']],
        [`memberOf/any(g:g/id in ('${groups.single}','${groups.empty}'))`, ['Ada']],
        ["memberOf/any(g:g/displayName eq 'pair') and not memberOf/any(g:g/displayName eq 'Single')", ['Bo']],
        ["memberOf/any(x:startswith(x/displayName,'s')) or displayName eq 'Di'", ['Ada', 'Di']],
        ["memberOf/all(g:g/displayName eq 'Pair')", ['Bo', 'Cy', 'Di']],
        ['not memberOf/any()', ['Cy', 'Di']],
        [`ownedObjects/any(o:o/id eq '${groups.pair}')`, ['Cy']],
      ]
      for (const [filter, expected] of cases) assert.deepEqual(await users(filter), expected, filter)
      assert.deepEqual(await names('groups', `members/any(m:m/id eq '${people.Bo}')`), ['Pair'])
      assert.deepEqual(await names('groups', `owners/any(o:o/id eq '${people.Cy}')`), ['Pair'])
      await directory.softDelete(groups.single ?? '')
      assert.deepEqual(await users(`memberOf/any(g:g/id eq '${groups.single}')`), [])
      await service.database
        .sql`update directory_object set deleted_at = null where id = ${groups.single ?? ''}`
    },
  )

  test('a filter on a relation tells nothing that the caller may not read', async () => {
    const ask = async (permissions: string[], set: string, filter: string) => {
      const asked = await service.request('GET', `/v1.0/${set}?$filter=${encodeURIComponent(filter)}`, {
        token: service.tokenFor({ kind: 'application', permissions }),
      })
      return asked.status
    }
    const byId = `memberOf/any(g:g/id eq '${groups.pair}')`
    assert.equal(await ask(['User.Read.All'], 'users', byId), 403)
    assert.equal(await ask(['User.Read.All', 'GroupMember.Read.All'], 'users', byId), 200)
    const members = `members/any(m:m/id eq '${people.Ada}')`
    assert.equal(await ask(['GroupMember.Read.All'], 'groups', members), 200)
    assert.equal(await ask(['GroupMember.Read.All'], 'groups', "members/any(m:m/displayName eq 'Ada')"), 400)
    assert.equal(
      await ask(['Group.Read.All', 'Directory.Read.All'], 'groups', 'members/any(m:m/mail eq null)'),
      200,
    )
  })

  clause(
    'DIR-202',
    '`$count` behind a collection or a direct relation filters by the number of its items …',
    async () => {
      const mine = (filter: string) =>
        names('groups', `displayName in ('Pair','Single','Empty') and ${filter}`)
      assert.deepEqual(await mine('members/$count gt 1'), ['Pair'])
      assert.deepEqual(await mine('members/$count eq 1'), ['Single'])
      assert.deepEqual(await mine('members/$count ne 1'), ['Empty', 'Pair'])
      assert.deepEqual(await mine('members/$count le 1'), ['Empty', 'Single'])
      assert.deepEqual(await mine('groupTypes/$count ge 1'), ['Empty'])
      assert.deepEqual(await users('memberOf/$count eq 2'), ['Ada'])
      for (const wrong of ["members/$count gt 'x'", 'members/$count gt -1', 'displayName/$count eq 1'])
        await call('GET', `/groups?$filter=${encodeURIComponent(wrong)}`, 400)
      for (const wrong of ["transitiveMemberOf/any(g:g/id eq 'x')", 'transitiveMemberOf/$count gt 1']) {
        const { body } = await call('GET', `/users?$filter=${encodeURIComponent(wrong)}`, 400)
        assert.match(body.error.message, /\/groups\/\{id\}\/transitiveMembers/)
      }
    },
  )

  clause(
    'DIR-203',
    '`$orderby` takes up to 5 of the properties that `docs/queries.md` lists as sortable, separated by commas, each with `asc` or `desc` …',
    async () => {
      const sorted = async (order: string, top = 1) => {
        const seen: string[] = []
        const filter = encodeURIComponent("companyName eq 'Queries'")
        for (let next = `/users?$orderby=${order}&$top=${top}&$filter=${filter}`; next; ) {
          const { body }: { body: Record<string, string> & { value: { displayName: string }[] } } =
            await call('GET', next, 200)
          seen.push(...body.value.map(({ displayName }) => displayName))
          next = body['@odata.nextLink'] ?? ''
        }
        return seen.join(' ')
      }
      assert.equal(await sorted('department,displayName desc'), 'Di Cy Bo Ada')
      assert.equal(await sorted('department desc,displayName'), 'Ada Bo Cy Di')
      assert.equal(await sorted('department desc, displayName DESC', 3), 'Bo Ada Cy Di')
      assert.equal(await sorted('userType,createdDateTime desc'), 'Bo Di Cy Ada')
      for (const wrong of ['department,department', 'aboutMe', 'displayName,', 'mail up', 'a,b,c,d,e,f'])
        await call('GET', `/users?$orderby=${wrong}`, 400)
    },
  )

  test('pages in several orders show every row that stays exactly once, while rows come and go', async () => {
    const word = fc.constantFrom('a', 'B', 'b', '')
    const direction = fc.constantFrom('', ' asc', ' desc')
    const scenario = fc.record({
      rows: fc.array(fc.tuple(word, word), { minLength: 1, maxLength: 12 }),
      top: fc.integer({ min: 1, max: 4 }),
      first: direction,
      second: direction,
      removed: fc.array(fc.nat(11), { maxLength: 4 }),
    })
    await fc.assert(
      fc.asyncProperty(scenario, async ({ rows, top, first, second, removed }) => {
        await service.database.sql`delete from directory_object where kind = 'orgContact'`
        const all: string[] = []
        for (const [jobTitle, displayName] of rows)
          all.push(await directory.add('orgContact', { displayName, ...(jobTitle && { jobTitle }) }))
        const gone = new Set<string>()
        const seen: { id: string; displayName: string; jobTitle: string | null }[] = []
        for (let next = `/contacts?$orderby=jobTitle${first},displayName${second}&$top=${top}`; next; ) {
          const { body } = await call('GET', next, 200)
          seen.push(...body.value)
          next = body['@odata.nextLink'] ?? ''
          const id = all[(removed.pop() ?? -1) % all.length]
          if (id === undefined) continue
          gone.add(id)
          await service.database.sql`delete from directory_object where id = ${id}`
        }
        const ids = seen.map(({ id }) => id)
        assert.equal(new Set(ids).size, ids.length, 'a row came twice')
        for (const id of all) if (!gone.has(id)) assert.ok(ids.includes(id), 'a row was passed over')
        const compare = (one: string | null, other: string | null, order: string) => {
          const [left, right] = [(one ?? '').toLowerCase(), (other ?? '').toLowerCase()]
          return (left < right ? -1 : left > right ? 1 : 0) * (order === ' desc' ? -1 : 1)
        }
        for (const [at, row] of seen.entries()) {
          const before = seen[at - 1]
          if (!before) continue
          const outer = compare(before.jobTitle, row.jobTitle, first)
          assert.ok(outer < 0 || (outer === 0 && compare(before.displayName, row.displayName, second) <= 0))
        }
      }),
      { numRuns: runs(15) },
    )
  })

  clause(
    'DIR-204',
    'A page of a filter that no index serves looks at no more than 10,000 rows: it has those that match, perhaps none, and `@odata.nextLink` continues behind them. …',
    async () => {
      await service.database.sql`
        insert into directory_object (tenant_id, id, kind, properties)
        select ${service.tenantId}, gen_random_uuid(), 'device',
          jsonb_build_object('displayName', 'D', 'deviceId', gen_random_uuid(), 'operatingSystem', 'Plan ' || n)
        from generate_series(1, 20500) as n`
      const pages: number[] = []
      const filter = encodeURIComponent("operatingSystem in ('Plan 7','Plan 9999','Plan 20500')")
      for (let next = `/devices?$filter=${filter}`; next; ) {
        const { body } = await call('GET', next, 200)
        pages.push(body.value.length)
        next = body['@odata.nextLink'] ?? ''
      }
      assert.equal(pages.length, 3)
      assert.equal(
        pages.reduce((sum, count) => sum + count),
        3,
      )
      const common = await call(
        'GET',
        `/devices?$filter=${encodeURIComponent("startswith(operatingSystem,'Plan')")}&$top=5`,
        200,
      )
      assert.equal(common.body.value.length, 5)
      const counted = await call('GET', `/devices/$count?$filter=${filter}`, 200)
      assert.equal(counted.text, '3')
    },
  )

  clause(
    'DIR-205',
    '`/$count` behind a list answers the number as `text/plain` and takes `$filter` and `$search`; the header `ConsistencyLevel` is accepted and never needed.',
    async () => {
      const filter = encodeURIComponent("companyName eq 'Queries' and endswith(mail,'a.example')")
      for (const headers of [{}, { consistencylevel: 'eventual' }]) {
        const counted = await call('GET', `/users/$count?$filter=${filter}`, 200, undefined, headers)
        assert.equal(counted.text, '2')
        assert.match(counted.headers.get('content-type') ?? '', /^text\/plain/)
        const searched = await call(
          'GET',
          '/users/$count?$search="displayName:ada" OR "displayName:bo"',
          200,
          undefined,
          headers,
        )
        assert.equal(searched.text, '2')
        const members = await call(
          'GET',
          `/groups/${groups.pair}/members/$count?$search="displayName:ada"`,
          200,
          undefined,
          headers,
        )
        assert.equal(members.text, '1')
      }
    },
  )

  clause(
    'DIR-206',
    'A filter of more than 4,096 characters, 100 terms, 16 levels or 100 values in one list is 400, as is one that cannot be read or names a property that does not exist …',
    async () => {
      const many = (count: number, separator: string) =>
        Array.from({ length: count }, () => 'id eq null').join(separator)
      const wrong: [string, RegExp][] = [
        [`displayName eq '${'x'.repeat(4_100)}'`, /longer than 4096 characters/],
        [many(101, ' or '), /more than 100 terms/],
        [`${'('.repeat(18)}id eq null${')'.repeat(18)}`, /nested deeper than 16 levels/],
        [`city in (${Array.from({ length: 101 }, () => "'x'").join(',')})`, /more than 100 values/],
        ["nothing eq 'x'", /Could not find a property named 'nothing' on type 'vendor.graph.user'/],
        ["contains(displayName,'x')", /the function 'contains', which is not supported/],
        ["memberOf/any(g:g/nothing eq 'x')", /Could not find a property named 'nothing'/],
        ["memberOf/any(g:g eq 'x')", /needs a property behind it/],
        ["displayName/any(x:x eq 'y')", /is no collection/],
        ["otherMails eq 'x'", /is a collection/],
        ['accountEnabled gt true', /does not support the operator 'gt'/],
        ['displayName eq 5', /is a string/],
        ['displayName eq', /its end where a value is expected/],
      ]
      for (const [filter, message] of wrong) {
        const { body } = await call('GET', `/users?$filter=${encodeURIComponent(filter)}`, 400)
        assert.match(body.error.message, message, filter)
      }
    },
  )

  clause(
    'DIR-341',
    "Inside `any` and `all` a filter takes `any`, `all` and `$count` of the item's own collections alone…",
    async () => {
      const displayName = 'Nested'
      const appRoles = [{ id: randomUUID(), value: 'x', allowedMemberTypes: ['User'] }]
      await directory.add('application', { displayName, appId: randomUUID(), tags: ['a', 'b'], appRoles })
      const mine = (filter: string) => names('applications', `displayName eq 'Nested' and ${filter}`)
      for (const [type, found] of [
        ['User', [displayName]],
        ['Application', []],
      ] as const)
        assert.deepEqual(
          await mine(`appRoles/any(r:r/allowedMemberTypes/any(t:t eq '${type}' and r/value eq 'x'))`),
          found,
        )
      assert.deepEqual(await mine('appRoles/any(r:r/allowedMemberTypes/$count eq 1)'), [displayName])
      assert.deepEqual(await mine("tags/any(a:a eq 'a') and tags/any(a:a eq 'b')"), [displayName])
      for (const wrong of [
        "tags/any(a:tags/any(b:a eq 'x' or b eq 'y'))",
        "tags/all(a:not tags/all(b:a eq 'x' or b eq 'y'))",
        "tags/any(a:a eq 'x' and owners/any())",
        'tags/any(a:owners/$count gt 5)',
        "appRoles/any(r:r/allowedMemberTypes/any(t:r/allowedMemberTypes/any(u:u eq 'x')))",
      ]) {
        const { body } = await call('GET', `/applications?$filter=${encodeURIComponent(wrong)}`, 400)
        assert.match(
          body.error.message,
          /is inside any or all, where a collection starts with '[at]\/'/,
          wrong,
        )
      }
    },
  )
})
