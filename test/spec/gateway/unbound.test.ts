import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { writeRunFile } from '../../../src/cli/run-file.ts'
import { openBareGateway } from '../../support/bare-gateway.ts'
import { clause } from '../../support/clause.ts'
import { useGateway } from '../../support/gateway.ts'
import { bindingOf, createMaskedDatabase } from '../../support/masked-database.ts'
import { freshDatabase } from '../../support/masking.ts'
import { ended } from '../../support/people.ts'
import { runHere } from '../../support/run-here.ts'
import { holdsFor } from '../../support/wait-until.ts'

/** Several times the documented time: machines that run tests are busy. */
const patienceMs = 20_000
const refused = (name: string) => ({
  code: '3D000',
  message: `database "${name}" is not bound to this gateway; name it as database or server/database`,
})

/** A second database on the server of the bound one. */
function useOther() {
  let made: Awaited<ReturnType<typeof createMaskedDatabase>> | undefined
  const other = () => {
    if (!made) throw new Error('the database is not there yet')
    return made
  }
  before(async () => {
    made = await createMaskedDatabase()
    await made.database.sql.unsafe(
      "create table public.plain (note text); insert into public.plain values ('raw')",
    )
    await made.database.sql.unsafe('grant select on public.plain to public')
  })
  after(() => made?.[Symbol.asyncDispose]())
  return { other, name: () => bindingOf(other().url).database }
}

describe('databases that are not bound', () => {
  const gateway = useGateway()
  const { name } = useOther()

  clause(
    'GATE-93',
    '`masquerade status` lists the databases on the servers of bound databases that are not bound themselves. The gateway refuses them as unknown (3D000).',
    async () => {
      const { dataDir, databaseUrl } = gateway.masking.service()
      await writeRunFile(dataDir, gateway.masking.service())
      const environment = { MASQUERADE_DATA_DIR: dataDir, MASQUERADE_DATABASE_URL: databaseUrl }
      const { host, port, database } = bindingOf(gateway.masked().url)
      const { stdout, stderr } = await runHere(['status', '--json'], { environment })
      const [server, ...others] = JSON.parse(stdout).unbound
      assert.deepEqual(others, [], stderr)
      assert.equal(server.server, `${host}:${port}`)
      assert.ok(server.names.includes(name()))
      assert.ok(server.names.includes('postgres'))
      assert.ok(!server.names.includes(database))
      const words = await runHere(['status'], { environment })
      assert.match(
        words.stdout,
        /\nNot bound, and not masked, on the same servers:\n {2}127\.0\.0\.1:\d+ {2}.*postgres/,
      )

      for (const each of [name(), `srv/${name()}`, 'postgres'])
        await assert.rejects(gateway.connect('analyst', { database: each }), refused(each))
    },
  )
})

describe('databases that are not bound, where the operator lets clients through', () => {
  const gateway = useGateway({ MASQUERADE_GATEWAY_UNBOUND: '1' })
  const { other, name } = useOther()
  const bind = async (path: string, binding: object | null) => {
    const put = await gateway.masking.send('PUT', path, { properties: { binding } })
    assert.ok(put.status < 300, put.text)
  }
  const read = async (database: string, text: string) => {
    const client = await gateway.connect('analyst', { database })
    try {
      return (await client.query(text)).rows
    } finally {
      await client.end()
    }
  }

  clause(
    'GATE-94',
    "With `MASQUERADE_GATEWAY_UNBOUND` the gateway passes clients on to them, by PostgreSQL's name of the database or by…",
    async () => {
      for (const each of [name(), `srv/${name()}`, `SUB-1/group-1/Srv/${name()}`])
        assert.deepEqual(await read(each, 'select note from public.plain'), [{ note: 'raw' }])
      await assert.rejects(read(`nothere/${name()}`, 'select 1'), refused(`nothere/${name()}`))
      await assert.rejects(read('no_such_database', 'select 1'), { code: '3D000', message: /does not exist/ })

      const { database } = gateway.masking.service()
      const entries = await database.sql`
        select 1 from audit_event
        where action = 'gateway/connect' and target like ${`%/servers/srv/databases/${name()}`}`
      assert.equal(entries.length, 3)

      const account = { user: 'ann@example.com', password: 'token', database: name() }
      await assert.rejects(gateway.connect('analyst', account), refused(name()))
    },
  )

  clause(
    'GATE-262',
    'A session in a database that is not bound (GATE-94) ends with 57P01 within two seconds when the…',
    async () => {
      const db = freshDatabase()
      const far = freshDatabase().replace('/Srv/', '/Far/')
      const bound = await gateway.connect('auditor', { database: name() })
      const end = ended(bound, patienceMs)
      await bind(db, bindingOf(other().url))
      assert.equal(await end, '57P01')
      await bind(db, null)

      // By another name of the host the binding leads to another server.
      await using third = await createMaskedDatabase()
      await bind(far, { ...bindingOf(third.url), host: 'localhost' })
      const stray = await gateway.connect('auditor', { database: `far/${name()}` })
      const left = ended(stray, patienceMs)
      await bind(far, null)
      assert.equal(await left, '57P01')
    },
  )

  clause(
    'GATE-290',
    'A session in a database that is not bound (GATE-94) ends with 57P01 within two seconds when the database is masked, whatever…',
    async () => {
      const db = freshDatabase()
      const far = freshDatabase().replace('/Srv/', '/Far/')
      await using third = await createMaskedDatabase()
      await bind(far, { ...bindingOf(third.url), host: 'localhost' })
      const alias = `far/${name()}`
      const session = await gateway.connect('auditor', { database: alias })
      const end = ended(session, patienceMs)
      await bind(db, bindingOf(other().url))
      await holdsFor(2_500, 'nothing is masked, and the session goes on', async () => {
        return (await session.query('select note from public.plain')).rowCount === 1
      })
      const rule = {
        schemaName: 'public',
        tableName: 'plain',
        columnName: 'note',
        maskingFunction: 'Default',
      }
      const put = await gateway.masking.putRule(db, 'note', rule)
      assert.equal(put.headers.get('x-masquerade-enforcement'), 'Enforced', put.text)
      assert.equal(await end, '57P01')
      await assert.rejects(read(alias, 'select 1'), refused(name()))

      const { sql } = other().database
      assert.equal(
        (await gateway.masking.send('DELETE', `${db}/dataMaskingPolicies/Default/rules/note`)).status,
        200,
      )
      await bind(db, null)
      await sql.unsafe('revoke execute on function pg_control_system() from public')
      await assert.rejects(read(alias, 'select 1'), { code: '57P03' })
      await sql.unsafe('grant execute on function pg_control_system() to public')
      assert.equal((await read(alias, 'select 1')).length, 1)
      await bind(far, null)
    },
  )

  // Masks that the store alone knows of, before and during the login; in workers as without.
  for (const workers of [1, 2])
    clause(
      'GATE-290',
      'A session in a database that is not bound (GATE-94) ends with 57P01 within two seconds when the database is masked, whatever…',
      async (t) => {
        const { database, url } = other()
        const { host, port } = bindingOf(url)
        const address = { host, port, addresses: ['127.0.0.1'], database: name() }
        const places = { database: name(), places: [{ host, port }], isSeveral: false }
        let looks: boolean[] = []
        const asked = new Set<string>()
        const bare = await openBareGateway(
          database,
          url,
          {},
          {},
          {
            workers,
            ports: {
              findDatabases: async () => [],
              findUnbound: async () => [{ id: 'one', target: 'one', address, isReached: true }],
              findPlaces: async (ids) => new Map(ids.map((id) => [id, places])),
              async findMasked(identities) {
                for (const one of identities) asked.add(one)
                return (looks.length > 1 ? looks.shift() : looks[0]) ? identities : []
              },
            },
          },
        )
        t.after(() => bare.close(0))
        const connect = () => gateway.connect('auditor', { port: bare.port, database: name() })
        looks = [true]
        await assert.rejects(connect(), refused(name()))
        looks = [false, true]
        await assert.rejects(connect(), { code: '57P01' })
        looks = [false]
        const session = await connect()
        assert.equal((await session.query('select 1')).rowCount, 1)
        const end = ended(session, patienceMs)
        looks = [true]
        assert.equal(await end, '57P01')
        const [row] = await database.sql<{ identity: string }[]>`
          select concat_ws('/', (select system_identifier from pg_control_system()), oid) as identity
          from pg_database where datname = current_database()`
        assert.deepEqual([...asked], [row?.identity])
      },
    )

  describe('on servers that several lists of hosts name', () => {
    const promise =
      'Bindings that have a host and port in common, directly or by the lists of other bindings, are of one…'
    const bound = freshDatabase()
    const far = freshDatabase().replace('/Srv/', '/Far/')
    const bind = async (path: string, url: string, host?: string) => {
      const { port, ...own } = bindingOf(url)
      const binding = host === undefined ? { ...own, port } : { ...own, host }
      const put = await gateway.masking.send('PUT', path, { properties: { binding } })
      assert.ok(put.status < 300, put.text)
    }
    const unbind = async (path: string) => {
      const put = await gateway.masking.send('PUT', path, { properties: { binding: null } })
      assert.equal(put.status, 200, put.text)
    }
    let third: Awaited<ReturnType<typeof createMaskedDatabase>>
    let here = ''
    /** The same server by another name. */
    let there = ''
    before(async () => {
      third = await createMaskedDatabase()
      const { host, port } = bindingOf(third.url)
      here = `${host}:${port}`
      there = `localhost:${port}`
    })
    after(() => third[Symbol.asyncDispose]())

    // In common with the list that led to the session, and by a list in between.
    clause('GATE-265', promise, async () => {
      const lists = {
        'a list that has one host in common': [`${here},127.0.0.1:1`, `${here},127.0.0.1:2`],
        'a list that has a host of another list in common': [`${here},${there}`, `${there},127.0.0.1:2`],
      }
      for (const [what, [first, second]] of Object.entries(lists)) {
        await bind(far, third.url, first)
        const names = [`far/${name()}`, `srv/${name()}`]
        const sessions = await Promise.all(names.map((database) => gateway.connect('auditor', { database })))
        const ends = sessions.map((session) => ended(session, patienceMs))
        await bind(bound, other().url, second)
        assert.deepEqual(await Promise.all(ends), ['57P01', '57P01'], what)
        for (const each of names) await assert.rejects(read(each, 'select 1'), refused(each), what)
        await unbind(bound)
        await unbind(far)
      }
    })

    clause('GATE-265', promise, async () => {
      await bind(far, third.url, `${here},127.0.0.1:1`)
      const session = await gateway.connect('auditor', { database: `far/${name()}` })
      for (const list of [
        `127.0.0.1:2,${here},127.0.0.1:1`,
        `${here},127.0.0.1:2`,
        here.replace(/:.*/, ''),
      ]) {
        await (list.includes(':') ? bind(far, third.url, list) : bind(far, third.url))
        const goesOn = async () => (await session.query('select 1')).rowCount === 1
        await holdsFor(2_500, `the session goes on beside ${list}`, goesOn)
      }
      await unbind(far)
    })
  })

  test('a bound database goes by its own name, and is masked there', async () => {
    const own = bindingOf(gateway.masked().url).database
    await assert.rejects(read(own, 'select 1'), refused(own))
    assert.deepEqual(await read(gateway.name, 'select email from public.customers where id = 1'), [
      { email: 'aXXX@XXXX.com' },
    ])
  })

  test('a masked database is not passed on to, whoever masks it', async () => {
    await other().database.sql.unsafe('create schema masquerade_guard')
    await assert.rejects(read(name(), 'select 1'), refused(name()))
    await other().database.sql.unsafe('drop schema masquerade_guard')
  })
})
