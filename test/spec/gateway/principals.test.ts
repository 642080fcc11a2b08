import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { readMaskedFor } from '../../../src/findings/per-role/read-masked.ts'
import type { GatewayLimits, GatewayPorts, Principal } from '../../../src/gateway/ports.ts'
import { readMaskVersion } from '../../../src/masks/read/mask-version.ts'
import { takeTurn } from '../../../src/masks/turn.ts'
import { openBareGateway, testPrincipal } from '../../support/bare-gateway.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy } from '../../support/masked-database.ts'
import { retryUntil } from '../../support/wait-until.ts'

type Target = Awaited<ReturnType<typeof createMaskedDatabase>>

const principals: Record<string, Principal> = {
  'ana@example.com': testPrincipal('ana'),
  'bob@example.com': testPrincipal('bob'),
  '8f9b0f6e-0d0f-4f4e-9d59-1c1a54f7d9a1': testPrincipal('job', 'servicePrincipal'),
}

describe('principals at a gateway before two databases', () => {
  const targets = new Map<string, Target>()
  before(async () => {
    for (const name of ['one', 'two']) {
      const target = await createMaskedDatabase()
      for (const { id } of Object.values(principals)) await target.createRole(id)
      await takeTurn(target.database, policy([]))
      targets.set(name, target)
    }
  })
  after(async () => {
    for (const target of targets.values()) await target[Symbol.asyncDispose]()
  })

  const get = (name: string): Target => targets.get(name) ?? assert.fail(`no database ${name}`)
  const open = (limits: Partial<GatewayLimits>, ports: Partial<GatewayPorts> = {}) => {
    const { database, url } = get('one')
    return openBareGateway(
      database,
      url,
      limits,
      {},
      {
        ports: {
          findDatabases: async (name) => {
            const { hostname, port, pathname } = new URL(get(name).url)
            const where = { host: hostname, port: Number(port), addresses: ['127.0.0.1'] }
            const address = { ...where, database: pathname.slice(1) }
            return [{ id: name, target: name, address, version: '1', isReached: true }]
          },
          readMasks: (id, roles) => readMaskedFor(get(id).database.sql, roles),
          readVersion: (id) => readMaskVersion(get(id).database.sql),
          checkToken: async (name) => {
            const principal = principals[name]
            return principal ? { kind: 'accepted', principal } : { kind: 'refused' }
          },
          prepareLogin: async (databaseId, principalId) => ({
            kind: 'ready',
            login: { role: get(databaseId).role(principalId), password: 'secret', version: '1' },
          }),
          ...ports,
        },
      },
    )
  }
  const login = async (port: number, user: string, database: string) => {
    const client = new pg.Client({ host: '127.0.0.1', port, user, password: 'a token', database })
    client.on('error', () => {})
    await client.connect()
    return client
  }

  // A principal is the same in every database, a role of its own in each.
  clause(
    'GATE-19',
    'Limits end a connection with an error of their own: too many sessions, overall or of one…',
    async (t) => {
      const gateway = await open({ connectionsPerRole: 1 })
      t.after(() => gateway.close(0))
      for (const name of Object.keys(principals)) {
        const client = await login(gateway.port, name, 'one')
        for (const database of ['one', 'two'])
          await assert.rejects(login(gateway.port, name, database), {
            code: '53300',
            message: /too many connections of/,
          })
        const ended = new Promise((resolve) => client.once('end', resolve))
        await client.end()
        await ended
        // It is counted out when the gateway has heard of it as well.
        const again = await retryUntil(() => login(gateway.port, name, 'two'))
        assert.deepEqual((await again.query('select 1 as one')).rows, [{ one: 1 }])
      }
    },
  )

  const away = async () => {
    throw new Error('connect ECONNREFUSED 192.0.2.7:5432')
  }
  const needed = {
    checkToken: 'the directory',
    prepareLogin: 'the list of mappings',
  }
  for (const [port, what] of Object.entries(needed))
    test(`without ${what}, a directory login hears so: 57P03`, async (t) => {
      const gateway = await open({}, { [port]: away })
      t.after(() => gateway.close(0))
      await assert.rejects(login(gateway.port, 'ana@example.com', 'one'), (error: pg.DatabaseError) => {
        assert.equal(error.code, '57P03')
        assert.doesNotMatch(error.message, /192\.0\.2\.7/)
        return true
      })
      // Roles of the database itself do not depend on it.
      const role = get('one').role('ana')
      const client = new pg.Client({
        host: '127.0.0.1',
        port: gateway.port,
        user: role,
        password: 'secret',
        database: 'one',
      })
      await client.connect()
      assert.deepEqual((await client.query('select current_user as me')).rows, [{ me: role }])
      await client.end()
    })
})
