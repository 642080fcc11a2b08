import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import { caller, everything } from '../../support/call.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory, type TestDirectory } from '../../support/directory.ts'
import { runs } from '../../support/runs.ts'
import { startTestService, type TestService } from '../../support/service.ts'

describe('lists', () => {
  let service: TestService
  let directory: TestDirectory
  let token: string

  before(async () => {
    service = await startTestService()
    directory = fillDirectory(service)
    token = service.tokenFor({ kind: 'application', permissions: everything })
  })
  after(() => service?.[Symbol.asyncDispose]())

  const call = caller(
    () => service,
    () => token,
  )
  const get = async (path: string) => (await call('GET', path, 200)).body
  const contact = (properties: Record<string, unknown>) => directory.add('orgContact', properties)
  const clear = () => service.database.sql`delete from directory_object where kind in ('orgContact', 'group')`

  /** All pages, as lists of ids. */
  async function walk(path: string, between: (page: number) => Promise<void> = async () => {}) {
    const pages: string[][] = []
    for (let next: string | undefined = path; next; ) {
      const page = await get(next)
      pages.push(page.value.map(({ id }: { id: string }) => id))
      next = page['@odata.nextLink']
      if (next) await between(pages.length)
    }
    return pages
  }

  clause(
    'DIR-140',
    'A list has pages of 100 items by default and 999 at most, and `@odata.nextLink` leads to the next one.',
    async () => {
      await clear()
      await service.database.sql`
        insert into directory_object (tenant_id, id, kind, properties)
        select ${service.tenantId}, gen_random_uuid(), 'orgContact', '{"displayName": "C"}'
        from generate_series(1, 1203)`
      const usual = await walk('/contacts')
      assert.equal(usual[0]?.length, 100)
      assert.deepEqual([usual.length, usual.at(-1)?.length, new Set(usual.flat()).size], [13, 3, 1203])
      const large = await walk('/contacts?$top=999')
      assert.deepEqual(
        large.map((page) => page.length),
        [999, 204],
      )
      for (const top of ['1000', '0', '-1', '1.5', 'x', '', '1e2'])
        await call('GET', `/contacts?$top=${top}`, 400)
    },
  )

  test('a walk shows every row that stayed exactly once, whatever comes and goes meanwhile', async () => {
    const orders = [
      '',
      '&$orderby=displayName',
      '&$orderby=displayName desc',
      '&$orderby=createdDateTime desc',
    ]
    const name = fc.constantFrom('a', 'B', 'b', 'ä', 'aa', '', 'zz')
    const change = fc.oneof(
      fc.record({ add: name, at: fc.nat(3) }),
      fc.record({ remove: fc.nat(30), at: fc.nat(3) }),
    )
    const scenario = fc.record({
      rows: fc.array(name, { minLength: 1, maxLength: 20 }),
      changes: fc.array(change, { maxLength: 8 }),
      top: fc.integer({ min: 1, max: 7 }),
      order: fc.constantFrom(...orders),
    })
    await fc.assert(
      fc.asyncProperty(scenario, async ({ rows, changes, top, order }) => {
        await clear()
        const group = (displayName: string) =>
          directory.add('group', { displayName, securityEnabled: false, groupTypes: [] })
        const initial = await Promise.all(rows.map(group))
        const removed = new Set<string>()
        const pages = await walk(`/groups?$top=${top}${order}`, async (page) => {
          for (const each of changes.filter(({ at }) => at + 1 === page)) {
            if ('add' in each) await group(each.add)
            else {
              const id = initial[each.remove % initial.length] ?? ''
              removed.add(id)
              await service.database.sql`delete from directory_object where id = ${id}`
            }
          }
        })
        const seen = pages.flat()
        assert.equal(new Set(seen).size, seen.length, 'a row came twice')
        for (const id of initial) if (!removed.has(id)) assert.ok(seen.includes(id), 'a row was passed over')
      }),
      { numRuns: runs(40) },
    )
  })

  test('$orderby sorts by one property, in both directions, without regard to case', async () => {
    await clear()
    for (const displayName of ['beta', 'Alpha', 'gamma', 'ALPHA']) await contact({ displayName })
    const names = async (order: string) =>
      (await get(`/contacts?$orderby=${order}`)).value.map((item: { displayName: string }) =>
        item.displayName.toLowerCase(),
      )
    assert.deepEqual(await names('displayName'), ['alpha', 'alpha', 'beta', 'gamma'])
    assert.deepEqual(await names('displayname DESC'), ['gamma', 'beta', 'alpha', 'alpha'])
    for (const order of [
      'nothing',
      'proxyAddresses',
      'displayName,displayName',
      'displayName up',
      '',
      'addresses',
    ])
      await call('GET', `/contacts?$orderby=${order}`, 400)
  })

  test('$count counts all rows, as an option and as a segment', async () => {
    await clear()
    for (const displayName of ['a', 'b', 'c']) await contact({ displayName })
    const page = await get('/contacts?$count=true&$top=2')
    assert.equal(page['@odata.count'], 3)
    assert.equal((await get(page['@odata.nextLink']))['@odata.count'], undefined)
    const segment = await call('GET', "/contacts/$count?$filter=displayName ne 'b'", 200, undefined, {
      consistencylevel: 'eventual',
    })
    assert.equal(segment.text, '2')
    assert.match(segment.headers.get('content-type') ?? '', /^text\/plain/)
    for (const wrong of ['yes', '1', '']) await call('GET', `/contacts?$count=${wrong}`, 400)
  })

  test('$select shows what it names, in any case, with and without the dollar sign', async () => {
    await clear()
    const id = await contact({ displayName: 'a', mail: 'a@example.org' })
    for (const query of [
      '$select=mail,displayName',
      'select=MAIL,displayname',
      '%24select=mail, displayName',
    ]) {
      const { value, ...rest } = await get(`/contacts?${query}`)
      assert.deepEqual(value, [{ '@odata.etag': 'W/"1"', mail: 'a@example.org', displayName: 'a' }])
      assert.match(rest['@odata.context'], /#contacts\(mail,displayName\)$/)
    }
    assert.equal((await get(`/contacts/${id}?$select=id`)).id, id)
    for (const query of ['$select=nothing', '$select=', '$select=mail,,id', '$select=mail&select=mail'])
      await call('GET', `/contacts?${query}`, 400)
  })

  test('$filter', async () => {
    await clear()
    await contact({ displayName: "O'Neil", mail: 'on@example.org', department: 'Sales' })
    await contact({ displayName: 'Orla', department: 'sales' })
    await contact({ displayName: 'Pia', department: 'Research' })
    await contact({ displayName: '100%_\\', department: null })
    const cases: [string, number][] = [
      ["displayName eq 'orla'", 1],
      ["displayName eq 'O''Neil'", 1],
      ["department eq 'SALES'", 2],
      ["department ne 'Sales'", 2],
      ['department eq null', 1],
      ['department ne null', 3],
      ["startswith(displayName,'o')", 2],
      ["startswith(displayName, 'O''N')", 1],
      ["startswith(displayName,'%')", 0],
      ["startswith(displayName,'100%_\\')", 1],
      ["startswith(displayName,'o') eq false", 2],
      ["displayName in ('orla', 'PIA', 'nobody')", 2],
      ["startswith(displayName,'o') and mail eq 'on@example.org'", 1],
      ["(displayName eq 'pia' or displayName eq 'orla') and department eq 'sales'", 1],
      ["displayName eq 'pia' or displayName eq 'orla' and department eq 'sales'", 2],
      ["not (department eq 'sales')", 2],
      ["not startswith(displayName,'o')", 2],
      ["DISPLAYNAME EQ 'pia'", 1],
    ]
    for (const [filter, count] of cases) {
      const page = await get(`/contacts?$filter=${encodeURIComponent(filter)}`)
      assert.equal(page.value.length, count, filter)
      const counted = await call('GET', `/contacts/$count?$filter=${encodeURIComponent(filter)}`, 200)
      assert.equal(counted.text, String(count), filter)
    }
  })

  test('$filter by Boolean, id, time and what a collection holds', async () => {
    await clear()
    const plain = await directory.group({ displayName: 'plain' })
    const unified = await directory.unifiedGroup({ displayName: 'unified' })
    const cases: [string, string[]][] = [
      ['securityEnabled eq true', [plain]],
      ['securityEnabled eq false', [unified]],
      ['mailEnabled ne true', [plain]],
      ["groupTypes/any(c:c eq 'Unified')", [unified]],
      ["not groupTypes/any(x:x eq 'unified')", [plain]],
      [`id eq '${plain}'`, [plain]],
      [`id in ('${plain.toUpperCase()}', '${randomUUID()}')`, [plain]],
      ['createdDateTime ge 2020-01-01T00:00:00Z and securityEnabled eq true', [plain]],
      ['createdDateTime lt 2020-01-01T00:00:00Z', []],
    ]
    for (const [filter, ids] of cases) {
      const page = await get(`/groups?$filter=${encodeURIComponent(filter)}`)
      assert.deepEqual(
        page.value.map(({ id }: { id: string }) => id),
        ids,
        filter,
      )
    }
  })

  clause(
    'DIR-139',
    'Lists take `$select`, `$filter`, `$top`, `$orderby`, `$count`, `$search` and `$expand`.',
    async () => {
      const ada = await directory.add('user', {
        displayName: 'Ada van Lovelace',
        userPrincipalName: 'ada@example.com',
        mail: 'ada@example.com',
      })
      await directory.add('user', { displayName: 'Adam Loew', userPrincipalName: 'adam@example.com' })
      await directory.add('user', { displayName: 'Bo', userPrincipalName: 'bo@example.com' })
      await call('POST', `/users/${ada}/extensions`, 201, {
        '@odata.type': 'microsoft.graph.openTypeExtension',
        extensionName: 'com.example.x',
      })
      const options = {
        $search: '"displayName:lo" AND "displayName:ad"',
        $filter: "startswith(userPrincipalName,'ada')",
        $select: 'displayName',
        $orderby: 'displayName desc',
        $top: '1',
        $count: 'true',
        $expand: 'extensions',
      }
      const query = new URLSearchParams(options).toString().replaceAll('+', '%20')
      const first = await get(`/users?${query}`)
      assert.equal(first['@odata.count'], 2)
      assert.deepEqual(first.value, [{ '@odata.etag': 'W/"1"', displayName: 'Adam Loew', extensions: [] }])
      const second = await get(first['@odata.nextLink'])
      assert.equal(second.value[0].displayName, 'Ada van Lovelace')
      assert.equal(second.value[0].extensions[0].extensionName, 'com.example.x')
      assert.equal(second['@odata.nextLink'], undefined)
    },
  )

  test('$search finds names by their words, and other properties by how they begin', async () => {
    const count = async (search: string) =>
      (await get(`/users?$search=${encodeURIComponent(search)}`)).value.length
    assert.equal(await count('"displayName:love"'), 1)
    assert.equal(await count('"displayName:van ad"'), 1)
    assert.equal(await count('"displayName:ovelace"'), 0)
    assert.equal(await count('"DisplayName:BO" OR "mail:ADA@"'), 2)
    assert.equal(await count('"mail:da@"'), 0)
    assert.equal(await count('"displayName:bo" OR "displayName:ada" AND "mail:nobody"'), 1)
    for (const wrong of [
      'x',
      '"x"',
      '"displayName:"',
      '"displayName:!"',
      '"nothing:x"',
      '"accountEnabled:true"',
      '"displayName:a" "mail:b"',
      '"displayName:a" AND',
      '"displayName:a',
      '',
    ])
      await call('GET', `/users?$search=${encodeURIComponent(wrong)}`, 400)
    for (const odd of ["'; drop", ':*', '& | !', '\\"quoted\\"', '<->'])
      await call('GET', `/users?$search=${encodeURIComponent(`"displayName:a${odd}"`)}`, 200)
  })

  test('a next link continues its own list and no other', async () => {
    await clear()
    for (const displayName of ['a', 'b', 'c']) await contact({ displayName })
    const next = new URL((await get('/contacts?$top=1&$orderby=displayName'))['@odata.nextLink'])
    const token = next.searchParams.get('$skiptoken') ?? ''
    for (const path of [
      `/contacts?$skiptoken=${token}`,
      `/groups?$orderby=displayName&$skiptoken=${token}`,
      `/contacts?$orderby=displayName desc&$skiptoken=${token}`,
      `/contacts?$orderby=displayName&$filter=displayName eq 'a'&$skiptoken=${token}`,
      '/contacts?$skiptoken=x',
      '/contacts?$skiptoken=',
      `/contacts?$skiptoken=${Buffer.from('[1,2,3,4]').toString('base64url')}`,
      `/contacts?$orderby=displayName&$skiptoken=${token.slice(1)}`,
    ])
      await call('GET', path, 400)
  })

  test('over plain HTTP, a next link wrapped by the official client is followed', async () => {
    await clear()
    for (const displayName of ['a', 'b', 'c']) await contact({ displayName })
    const { '@odata.nextLink': next } = await get('/contacts?$top=1&$orderby=displayName')
    const second = await get(`/${next}`)
    assert.equal(second.value[0].displayName, 'b')
    assert.equal(new URL(second['@odata.nextLink']).pathname, '/v1.0/contacts')
    assert.equal((await get(`/${second['@odata.nextLink']}`)).value[0].displayName, 'c')
  })

  test('a query option that is not supported is refused, never ignored', async () => {
    for (const query of [
      '$search="x"',
      '$expand=members',
      '$skip=5',
      '$apply=x',
      '$format=xml',
      'foo=bar',
      '$compute=x',
    ])
      for (const path of ['/contacts', `/contacts/${randomUUID()}`, '/contacts/$count'])
        await call('GET', `${path}?${query}`, 400)
  })
})
