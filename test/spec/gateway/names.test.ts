import assert from 'node:assert/strict'
import { after, describe } from 'node:test'
import { listBoundNames } from '../../../src/masking/binding/find-bound.ts'
import { clause } from '../../support/clause.ts'
import { useGateway } from '../../support/gateway.ts'
import { bindingOf, createMaskedDatabase } from '../../support/masked-database.ts'

describe('the name of a database', () => {
  const made: AsyncDisposable[] = []
  after(async () => {
    for (const each of made) await each[Symbol.asyncDispose]()
  })
  const gateway = useGateway()
  /** What PostgreSQL calls the database that is behind this name. */
  const find = async (database: string): Promise<string> => {
    const client = await gateway.connect('analyst', { database })
    const { rows } = await client.query('select current_database()')
    await client.end()
    return rows[0].current_database
  }
  /** Binds another database under the same name. */
  const bind = async (group: string, server: string): Promise<string> => {
    const target = await createMaskedDatabase()
    made.push(target)
    const path = gateway.db.replace('Group-1', group).replace('/Srv/', `/${server}/`)
    await gateway.masking.send('PUT', path.replace(/\/databases\/.*/, ''), {})
    const binding = bindingOf(target.url)
    const { status, text } = await gateway.masking.send('PUT', path, { properties: { binding } })
    assert.equal(status, 201, text)
    return binding.database
  }

  const nameOf = async (path: string) => (await gateway.masking.send('GET', path)).body.properties.gatewayName
  const pathOf = (group: string, server: string) =>
    gateway.db.replace('Group-1', group).replace('/Srv/', `/${server}/`)
  /** Ends the binding of the first database, and its masks before. */
  const unbind = async () => {
    await gateway.masking.putPolicy(gateway.db, { dataMaskingState: 'Disabled' })
    const ended = await gateway.masking.send('PUT', gateway.db, { properties: { binding: null } })
    assert.equal(ended.status, 200, ended.text)
  }
  const unknown = (name: string) => ({
    code: '3D000',
    message: `database "${name}" is not bound to this gateway; name it as database or server/database`,
  })

  clause(
    'GATE-62',
    'A database is named `database`, `server/database`, `group/server/database` or…',
    async () => {
      const { name } = gateway
      const first = bindingOf(gateway.masked().url).database
      assert.equal(await find(name), first)
      const second = await bind('Group-1', 'other')
      assert.equal(await find(`srv/${name}`), first)
      assert.equal(await find(`OTHER/${name.toUpperCase()}`), second)
      const third = await bind('Group-2', 'Srv')
      assert.equal(await find(`group-1/srv/${name}`), first)
      assert.equal(await find(`other/${name}`), second)
      assert.equal(await find(`sub-1/Group-2/srv/${name}`), third)

      const wrong = ['nothere', `group-3/srv/${name}`, `x/sub-1/group-2/srv/${name}`, `/${name}`, `${name}/`]
      for (const each of wrong) await assert.rejects(find(each), unknown(each))
    },
  )

  clause(
    'GATE-110',
    'A name shorter than the whole path belongs to the database that was bound with it first (GATE-114). Databases…',
    async () => {
      const { name } = gateway
      const first = bindingOf(gateway.masked().url).database
      for (const each of [name, `srv/${name}`, `group-1/srv/${name}`])
        assert.equal(await find(each), first, each)
      assert.equal(await nameOf(gateway.db), name.toLowerCase())
      assert.equal(await nameOf(pathOf('Group-1', 'other')), `other/${name.toLowerCase()}`)
      assert.equal(await nameOf(pathOf('Group-2', 'Srv')), `group-2/srv/${name.toLowerCase()}`)

      const service = gateway.masking.service()
      const stranger = service.tokenFor({ role: 'Contributor', scope: '/subscriptions/theirs' })
      const theirs = gateway.db.replace('sub-1', 'theirs')
      const target = await createMaskedDatabase()
      made.push(target)
      const bindTheirs = async () =>
        service.request('PUT', `${theirs}?api-version=2014-04-01`, {
          token: stranger,
          body: { properties: { binding: bindingOf(target.url) } },
        })
      const bound = await bindTheirs()
      assert.equal(bound.status, 201, bound.text)
      assert.equal(bound.body.properties.gatewayName, `theirs/group-1/srv/${name.toLowerCase()}`)
      assert.equal(await find(name), first, 'a stranger changes nothing for others')

      const { binding } = (await gateway.masking.send('GET', gateway.db)).body.properties
      await unbind()
      for (const each of [name, `srv/${name}`, `group-1/srv/${name}`])
        await assert.rejects(find(each), unknown(each))
      assert.equal((await bindTheirs()).body.properties.gatewayName, bound.body.properties.gatewayName)
      await assert.rejects(find(name), unknown(name), 'nor does binding again')
      const password = bindingOf(gateway.masked().url).password
      await gateway.masking.send('PUT', gateway.db, { properties: { binding: { ...binding, password } } })
      assert.equal(await find(name), first, 'its own name waits for it')
    },
  )

  clause(
    'GATE-111',
    'A name passes on to another database only when a caller binds that one who may also write the former…',
    async () => {
      const { name } = gateway
      const other = pathOf('Group-1', 'other')
      const { binding } = (await gateway.masking.send('GET', other)).body.properties
      const again = () => gateway.masking.send('PUT', other, { properties: { binding } })
      assert.equal((await again()).body.properties.gatewayName, `other/${name.toLowerCase()}`, 'still bound')
      await unbind()
      assert.equal((await again()).body.properties.gatewayName, name.toLowerCase())
      assert.equal(await find(name), binding.database)

      const { database, tenantId } = gateway.masking.service()
      await database.sql`update gateway_name set key = null where tenant_id = ${tenantId} and name = ${name}`
      await assert.rejects(find(name), {
        code: '3D000',
        message: `several databases are called "${name}"; connect to one of them as server/database`,
      })
      assert.equal((await again()).body.properties.gatewayName, name.toLowerCase())
    },
  )

  clause(
    'GATE-114',
    'A binding takes its short names when it first logs in to its database, at the PUT or later. One that never did holds…',
    async () => {
      const service = gateway.masking.service()
      const stranger = service.tokenFor({ role: 'Contributor', scope: '/subscriptions/theirs' })
      const path = '/subscriptions/theirs/resourceGroups/g/providers/Vendor.Sql/servers/s/databases/payroll'
      const put = (binding: object) =>
        service.request('PUT', `${path}?api-version=2014-04-01`, {
          token: stranger,
          body: { properties: { binding } },
        })
      const target = await createMaskedDatabase()
      made.push(target)
      const late = await target.createRole('late', 'NOLOGIN SUPERUSER')
      const squatted = await put({ ...bindingOf(target.url), user: late, password: 'secret' })
      assert.equal(squatted.body.properties.connection.state, 'Unreachable', squatted.text)
      assert.equal(squatted.body.properties.gatewayName, 'theirs/g/s/payroll')
      const codesOf = (answer: typeof squatted) =>
        answer.body.properties.preflight.warnings.map(({ code }: { code: string }) => code)
      assert.ok(!codesOf(squatted).includes('ShortNameTaken'))
      await assert.rejects(find('payroll'), unknown('payroll'))

      const real = await createMaskedDatabase()
      made.push(real)
      const mine = gateway.db.replace(/[^/]*$/, 'payroll')
      const bound = await gateway.masking.send('PUT', mine, { properties: { binding: bindingOf(real.url) } })
      assert.equal(bound.body.properties.gatewayName, 'payroll', bound.text)
      assert.equal(await find('payroll'), bindingOf(real.url).database)

      await target.database.sql.unsafe(`alter role "${late}" login`)
      const [row] = await service.database.sql<{ id: string }[]>`
        select id from masked_database where key = ${path.toLowerCase()}`
      await service.enforcement.settle(row?.id ?? '')
      assert.equal(await nameOf(path), 's/payroll', 'free names, and no others')
      assert.equal(await find('payroll'), bindingOf(real.url).database)
      assert.ok(
        codesOf(await put({ ...bindingOf(target.url), user: late, password: 'secret' })).includes(
          'ShortNameTaken',
        ),
      )
    },
  )

  clause(
    'GATE-112',
    '`properties.gatewayName` of a bound database is the shortest name that leads to it. The answer to a…',
    async () => {
      const target = await createMaskedDatabase()
      made.push(target)
      const path = pathOf('Group-9', 'other')
      const put = (binding: object | null) => gateway.masking.send('PUT', path, { properties: { binding } })
      const { properties } = (await put(bindingOf(target.url))).body
      const warning = properties.preflight.warnings.find(
        ({ code }: { code: string }) => code === 'ShortNameTaken',
      )
      assert.match(
        warning?.message ?? '',
        new RegExp(`through the gateway as '${properties.gatewayName}'`, 'i'),
      )
      const { value } = (await gateway.masking.send('GET', path.replace(/\/[^/]*$/, ''))).body
      assert.equal(value[0].properties.gatewayName, properties.gatewayName)
      const sent = (await gateway.masking.send('GET', path)).body
      assert.equal(
        (await gateway.masking.send('PUT', path, sent)).status,
        200,
        'what was read can be sent back',
      )
      const { database, tenantId } = gateway.masking.service()
      const listed = (await listBoundNames(database.sql, tenantId)).find(
        ({ parts }) => parts[2] === 'Group-9',
      )
      assert.equal(listed?.name, properties.gatewayName)
      assert.equal((await put(null)).body.properties.gatewayName, null)
    },
  )
})
