import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import type pg from 'pg'
import pino from 'pino'
import type { BoundPlaces } from '../../../src/gateway/ports.ts'
import { MaskCache } from '../../../src/gateway/rewrite/mask-cache.ts'
import { clause } from '../../support/clause.ts'
import { useGateway } from '../../support/gateway.ts'
import { bindingOf, createMaskedDatabase } from '../../support/masked-database.ts'
import { freshDatabase } from '../../support/masking.ts'
import { useOtherNode } from '../../support/other-node.ts'
import { bringPeople, ended } from '../../support/people.ts'
import { openTokenGateway } from '../../support/token-gateway.ts'
import { holdsFor, waitUntil } from '../../support/wait-until.ts'

/** Several times the documented time: machines that run tests are busy. */
const patienceMs = 8_000
const read = 'select email from public.customers where id = 1'

describe('sessions of a binding that leads elsewhere by now', () => {
  const gateway = useGateway()
  const other = useOtherNode(gateway)
  let decoy: Awaited<ReturnType<typeof createMaskedDatabase>>
  /** Bound without rules, so that it can be unbound. */
  let spare: typeof decoy
  let people: Awaited<ReturnType<typeof bringPeople>>
  before(async () => {
    decoy = await createMaskedDatabase()
    spare = await createMaskedDatabase()
    people = await bringPeople(gateway)
  })
  after(async () => {
    await decoy[Symbol.asyncDispose]()
    await spare[Symbol.asyncDispose]()
  })

  const bind = async (db: string, binding: object | null) => {
    const put = await gateway.masking.send('PUT', db, { properties: { binding } })
    assert.ok(put.status < 300, put.text)
    return put
  }
  const readPid = async (client: pg.Client): Promise<number> =>
    (await client.query('select pg_backend_pid() as pid')).rows[0].pid

  // An exempt role, a person, a session at another node and one that is at work.
  clause(
    'GATE-259',
    'The sessions in a database end with 57P01 within two seconds, on every node, when its binding leads…',
    async () => {
      const { url, database } = gateway.masked()
      const person = await people.user()
      await people.map(person.id)
      const sessions = [
        await gateway.connect('auditor'),
        await people.connect(person.name, person.token),
        await other.connect(gateway.masked().role('auditor')),
      ]
      for (const session of sessions) assert.equal((await session.query(read)).rowCount, 1)
      const busy = await gateway.connect('auditor')
      const pid = await readPid(busy)
      const work = assert.rejects(busy.query('select pg_sleep(600)'), { code: '57P01' })
      const isBusy = async () =>
        (await database.sql`select 1 from pg_stat_activity where pid = ${pid} and state = 'active'`).length >
        0
      await waitUntil('the statement runs', isBusy)

      const ends = sessions.map((session) => ended(session, 20_000 + patienceMs))
      await bind(gateway.db, bindingOf(decoy.url))
      assert.deepEqual(await Promise.all(ends), ['57P01', '57P01', '57P01'])
      await work
      await waitUntil('the statement is cancelled', async () => !(await isBusy()))

      const [entry] = await gateway.masking.service().database.sql<{ places: string[] }[]>`
        select array[before #>> '{properties,binding,database}', after #>> '{properties,binding,database}'] as places
        from audit_event where action = 'Vendor.Sql/servers/databases/write' order by at desc limit 1`
      assert.deepEqual(entry?.places, [bindingOf(url).database, bindingOf(decoy.url).database])

      await bind(gateway.db, bindingOf(url))
      assert.equal((await (await gateway.connect('auditor')).query(read)).rowCount, 1)
    },
  )

  // Unbound, several hosts in the place of one, and deleted.
  clause(
    'GATE-259',
    'The sessions in a database end with 57P01 within two seconds, on every node, when its binding leads…',
    async () => {
      const db = freshDatabase()
      const binding = bindingOf(spare.url)
      const changes: Record<string, () => Promise<unknown>> = {
        'it is unbound': () => bind(db, null),
        'it has several hosts': () =>
          bind(db, { ...binding, host: `${binding.host}:${binding.port},127.0.0.1:1`, port: undefined }),
        'it is deleted': async () => {
          const gone = await gateway.masking.send('DELETE', db)
          assert.equal(gone.status, 200, gone.text)
        },
      }
      for (const [what, change] of Object.entries(changes)) {
        await bind(db, binding)
        const session = await gateway.connect('auditor', { database: db.replace(/^.*\//, '') })
        const end = ended(session, 20_000 + patienceMs)
        await change()
        assert.equal(await end, '57P01', what)
      }
    },
  )

  clause(
    'GATE-260',
    'A binding that is stored again for the same place ends no session, whatever else of it is new: its…',
    async () => {
      const db = freshDatabase()
      const { port, ...binding } = bindingOf(spare.url)
      const here = `${binding.host}:${port}`
      const admin = await spare.createRole('admin', 'LOGIN SUPERUSER')
      const connect = () => gateway.connect('auditor', { database: db.replace(/^.*\//, '') })
      const goesOn = async (bindings: readonly object[]) => {
        const session = await connect()
        for (const each of bindings) {
          await bind(db, each)
          await holdsFor(
            2_500,
            'the session goes on',
            async () => (await session.query('select 1')).rowCount === 1,
          )
        }
      }
      await bind(db, { ...binding, port })
      await goesOn([
        { ...binding, port },
        { ...binding, port, user: admin, password: 'secret' },
      ])
      await bind(db, { ...binding, host: `${here},127.0.0.1:1` })
      await goesOn([
        { ...binding, host: `127.0.0.1:1,${here}` },
        { ...binding, host: `${here},127.0.0.1:2` },
      ])
    },
  )

  clause(
    'GATE-263',
    'Masks of the new place do not count for a session at the former one: until it ends (GATE-259), the audit…',
    async (t) => {
      const own = bindingOf(gateway.masked().url)
      const address = { ...own, addresses: [] }
      const placesOf = ({ host, port, database }: typeof own): BoundPlaces => ({
        database,
        places: [{ host, port }],
        isSeveral: false,
      })
      let bound = placesOf(own)
      const cache = new MaskCache({
        readMasks: async () => new Map([['auditor', { relations: [], homonyms: [] }]]),
        readVersion: async () => bound.database,
        findPlaces: async (ids) => new Map(ids.map((id) => [id, bound])),
        log: pino({ level: 'silent' }),
      })
      t.after(() => cache.close())
      const held = await cache.hold('one', 'auditor', { roleOid: 1, memberships: '', address })
      assert.equal(held.current().isUnknown, false)
      bound = placesOf(bindingOf(decoy.url))
      await cache.refresh('one')
      assert.equal(held.current().isUnknown, true)
      const next = { roleOid: 1, memberships: '', address: { ...address, database: bound.database } }
      assert.equal((await cache.hold('one', 'auditor', next)).current().isUnknown, false)
    },
  )

  clause(
    'GATE-266',
    'Masks that were read while the binding changed count for no session, and are read again. Where it…',
    async (t) => {
      const place = { host: '127.0.0.1', port: 5432, addresses: [] }
      const bindingTo = (database: string, version: number): BoundPlaces => ({
        ...{ database, places: [place], isSeveral: false, version: String(version) },
      })
      let bound = bindingTo('former', 1)
      /** For each reading during which the binding changes: where the masks are from, and the binding behind it. */
      let changes: { from: string; next: BoundPlaces }[] = []
      let readings = 0
      const cache = new MaskCache({
        async readMasks() {
          readings++
          const { from, next } = changes.shift() ?? { from: bound.database, next: bound }
          bound = next
          return new Map([['auditor', { relations: [], homonyms: [], hides: [from] }]])
        },
        readVersion: async () => 'the same',
        findPlaces: async (ids) => new Map(ids.map((id) => [id, bound])),
        log: pino({ level: 'silent' }),
      })
      t.after(() => cache.close())

      changes = [{ from: 'former', next: bindingTo('next', 2) }]
      const next = { roleOid: 1, memberships: '', address: { ...place, database: 'next' } }
      const held = await cache.hold('one', 'auditor', next)
      assert.deepEqual([held.current().hides, readings], [['next'], 2], 'bound elsewhere')

      changes = [{ from: 'former', next: bindingTo('next', 4) }]
      await cache.refresh('one')
      assert.deepEqual([held.current().hides, readings], [['next'], 4], 'bound elsewhere and back')

      changes = [5, 6, 7].map((version) => ({ from: 'next', next: bindingTo('next', version) }))
      await cache.refresh('one')
      assert.deepEqual([held.current().isUnknown, readings], [true, 7], 'bound again and again')
      await waitUntil('the masks are read again', () => !held.current().isUnknown, { withinMs: patienceMs })
    },
  )

  // The binding changes after the database was found; in workers as without.
  for (const workers of [1, 2])
    clause(
      'GATE-261',
      'A login that is under way when the binding changes opens no session: 57P01. The former server gets no…',
      async (t) => {
        const { host, port, database } = bindingOf(gateway.masked().url)
        const here: BoundPlaces = { database, places: [{ host, port }], isSeveral: false, version: '1' }
        const elsewhere: Record<string, BoundPlaces> = {
          'another database': { ...here, database: 'another' },
          'another port': { ...here, places: [{ host, port: port + 1 }] },
          'several hosts': { ...here, isSeveral: true },
        }
        let answers: (BoundPlaces | undefined)[] = []
        let password = 'secret'
        const { asRole, asPerson } = await openTokenGateway(t, gateway, {
          workers,
          passwordOf: () => password,
          ports: {
            findPlaces: async (ids) => {
              const found = answers.length > 1 ? answers.shift() : answers[0]
              return new Map(found && ids.map((id) => [id, found]))
            },
          },
        })
        for (const [what, answer] of Object.entries({ ...elsewhere, 'no binding': undefined })) {
          answers = [answer]
          await assert.rejects(asRole(), { code: '57P01' }, what)
          // Where a proof of this password were sent, the database would refuse it.
          password = 'of the next binding'
          await assert.rejects(asPerson(), { code: '57P01' }, what)
          password = 'secret'
          answers = [here, answer]
          await assert.rejects(asPerson(), { code: '57P01' }, what)
        }
        answers = [here]
        for (const connect of [asRole, asPerson]) assert.ok((await (await connect()).query(read)).rowCount)
      },
    )

  // The server is bound, then another, then the first again: by its place alone it is the one of the login.
  for (const workers of [1, 2])
    clause(
      'GATE-289',
      'A directory login goes to the servers of the very binding that the password of its login role is of…',
      async (t) => {
        const { host, port, database } = bindingOf(gateway.masked().url)
        const own = { version: '1', password: 'secret' }
        const next = { version: '2', password: 'of the next binding' }
        let [bound, prepared] = ['1', [own]]
        let preparations = 0
        const { asPerson } = await openTokenGateway(t, gateway, {
          workers,
          ports: {
            findPlaces: async (ids) =>
              new Map(
                ids.map((id) => [
                  id,
                  { database, places: [{ host, port }], isSeveral: false, version: bound },
                ]),
              ),
            async prepareLogin() {
              const login = prepared[Math.min(preparations, prepared.length - 1)] ?? own
              preparations++
              return { kind: 'ready', login: { role: gateway.masked().role('analyst'), ...login } }
            },
          },
        })
        // Where a proof of a wrong password were sent, the server would refuse it: 28P01.
        const logins: [string, string, (typeof own)[], number][] = [
          ['bound elsewhere and back since the password was made', '3', [next], 1],
          ['bound elsewhere since the password was made', '2', [next], 1],
          ['bound elsewhere and back while the server is connected to', '3', [own], 1],
          ['bound elsewhere while the server refuses a password', '1', [{ ...next, version: '1' }, next], 2],
        ]
        for (const [what, now, logIns, expected] of logins) {
          ;[bound, prepared, preparations] = [now, logIns, 0]
          await assert.rejects(asPerson(), { code: '57P01' }, what)
          assert.equal(preparations, expected, what)
        }
        ;[bound, prepared] = ['1', [own]]
        assert.ok((await (await asPerson()).query(read)).rowCount)
      },
    )
})
