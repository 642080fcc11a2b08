import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe } from 'node:test'
import pg from 'pg'
import { type Database, openDatabase } from '../../../src/db/database.ts'
import { FollowedServer } from '../../../src/sessions/followed-server.ts'
import { type Mark, readMark } from '../../../src/sessions/replay.ts'
import { visitServer } from '../../../src/sessions/visit-server.ts'
import { NetworkLink } from '../../cluster/proxy.ts'
import { useBoundPair } from '../../support/bound-pair.ts'
import { clause } from '../../support/clause.ts'
import { openDelayed } from '../../support/delayed-session.ts'
import { fillDirectory } from '../../support/directory.ts'
import { emailRule, policyUrl } from '../../support/masking.ts'
import { whilePaused } from '../../support/standby.ts'
import { holdsFor, retryUntil, waitUntil } from '../../support/wait-until.ts'

const raw = 'ann@example.com'
const schema = `
  create table public.person (id int primary key, email text, city text); insert into public.person values (1, '${raw}', 'Ghent');
  create role standby_plain login password 'secret'; create role standby_readers; create role standby_auditors;
  create role standby_signal login password 'secret'; grant pg_signal_backend to standby_signal;
  grant usage on schema public to public; grant select on public.person to standby_readers, standby_auditors`

/** People who connect to the standby directly, with the password of their login role. */
describe('sessions of login roles at standbys', () => {
  const { masking, db, pair } = useBoundPair({ schema, first: 'primary' })
  const opened: pg.Client[] = []
  let link: NetworkLink
  let primary: Database
  let standby: Database
  before(async () => {
    link = await NetworkLink.open(pair().standby.port)
    primary = pair().open(pair().primary, 'people')
    standby = pair().open(pair().standby, 'people')
    const host = `127.0.0.1:${pair().primary.port},127.0.0.1:${link.port}`
    const binding = { host, database: 'people', user: pair().user, password: pair().password }
    const bound = await masking.send('PUT', db, { properties: { binding } })
    assert.equal(bound.status, 201, bound.text)
    assert.equal((await masking.putRule(db, 'mail', emailRule)).status, 201)
  })
  after(async () => {
    for (const client of opened) await client.end().catch(() => {})
    await link?.close()
  })

  const stateOf = async (at: string) => (await masking.send('GET', `${policyUrl(at)}/enforcement`)).body
  const audit = () => masking.service().database.sql`update enforcement_state set next_check_at = now()`

  async function exempt(exemptPrincipals: string) {
    const put = await masking.putPolicy(db, { dataMaskingState: 'Enabled', exemptPrincipals })
    return put.headers.get('x-masquerade-enforcement')
  }

  /** A person with a login role, which is a member of the role. */
  async function bringPerson(at: string, databaseRole: string) {
    const principalId = await fillDirectory(masking.service()).user()
    const mapping = `${at}/roleMappings/${principalId}`
    const put = await masking.send('PUT', mapping, { properties: { databaseRole, principalId } })
    assert.equal(put.status, 201, put.text)
    const [row] = await masking.service().database.sql<{ id: string }[]>`
      select id from masked_database where key = ${at.toLowerCase()}`
    const outcome = await masking.service().enforcement.prepareLogin(row?.id ?? '', principalId)
    if (outcome.kind !== 'ready') return assert.fail(JSON.stringify(outcome))
    const { role: user, password } = outcome.login
    /** A session at the standby with the rights of the role. */
    const connect = (database = 'people') =>
      retryUntil(async () => {
        const client = new pg.Client({
          host: '127.0.0.1',
          port: pair().standby.port,
          user,
          password,
          database,
        })
        client.on('error', () => {})
        opened.push(client)
        await client.connect()
        await client.query(`set role ${databaseRole}`)
        return client
      })
    const exists = async () => (await primary.sql`select from pg_roles where rolname = ${user}`).length === 1
    return { principalId, user, password, connect, exists, unmap: () => masking.send('DELETE', mapping) }
  }

  const isOver = (client: pg.Client) =>
    client.query('select').then(
      () => false,
      () => true,
    )

  const plainUrl = (database: string) =>
    `postgres://standby_plain:secret@127.0.0.1:${pair().standby.port}/${database}`

  const pidOf = async (client: pg.Client): Promise<number> =>
    (await client.query('select pg_backend_pid() as pid')).rows[0].pid

  const goesOn = (pid: number) => `run there: SELECT pg_terminate_backend(${pid}).`
  const behind = /has not replayed that roles lost rights/

  /** Ends sessions of a role at a server as one node does, as if it had lost something by then. */
  function visitFor(role: number, scope: 'here' | 'everywhere') {
    const open = new Map()
    return async (database: Database, mark: Mark, left: string) => {
      const server = Object.assign(new FollowedServer('standby:1', database), { open })
      return await visitServer(server, { mark, change: null, losses: [{ role, left, scope }] })
    }
  }

  /** The same for a login role that has lost something now. */
  async function askFor({ user }: { readonly user: string }) {
    const [login] = await primary.sql<{ oid: number }[]>`
      select oid::int8 as oid from pg_roles where rolname = ${user}`
    const mark = await readMark(primary)
    const visit = visitFor(Number(login?.oid), 'everywhere')
    /** Why something is pending; empty: nothing is. */
    const ask = async (database: Database, primaryMark = mark) =>
      (await visit(database, primaryMark, mark.lsn)).pending.join(' ')
    return { ask, mark }
  }

  clause(
    'GATE-327',
    'A login role that loses something loses its sessions at every server that the binding lists, also where no session of…',
    async () => {
      const noor = await bringPerson(db, 'standby_readers')
      const sessions = [await noor.connect(), await noor.connect('postgres')]
      assert.equal((await sessions[0]?.query('select city from public.person'))?.rowCount, 1)
      const other = await bringPerson(db, 'standby_readers')
      const stays = await other.connect()
      assert.equal((await noor.unmap()).status, 200)
      for (const session of sessions) assert.equal(await isOver(session), true)
      assert.equal(await isOver(stays), false)
      await waitUntil('the end is over', async () => (await stateOf(db)).state === 'Enforced')
      await waitUntil('the role is dropped', async () => !(await noor.exists()))

      await exempt('standby_auditors')
      const eve = await bringPerson(db, 'standby_auditors')
      const auditing = await eve.connect()
      assert.deepEqual((await auditing.query('select email from public.person')).rows, [{ email: raw }])
      await eve.unmap()
      assert.equal(await isOver(auditing), true)
      assert.equal(await exempt(''), 'Enforced')
    },
  )

  clause(
    'GATE-328',
    'While a server of the list has not replayed the loss, or does not answer, or sessions there go on, the state is `Pending` and names…',
    async () => {
      const noor = await bringPerson(db, 'standby_readers')
      const before = await noor.connect()
      await whilePaused(standby, async () => {
        await noor.unmap()
        const { state, reason } = await stateOf(db)
        assert.deepEqual([state, await noor.exists()], ['Pending', true])
        assert.match(reason, /The standby 127\.0\.0\.1:\d+ has not replayed that roles lost rights/)
        assert.equal(await isOver(before), true)
        // The standby still takes the password and the membership.
        await noor.connect()
      })
      const last = opened.at(-1) as pg.Client
      await waitUntil('its session ends', () => isOver(last))
      await waitUntil('the standby has replayed', async () => (await stateOf(db)).state === 'Enforced')
      await waitUntil('the role is dropped', async () => !(await noor.exists()))

      const ana = await bringPerson(db, 'standby_readers')
      const session = await ana.connect()
      link.cut()
      await ana.unmap()
      const { state, reason } = await stateOf(db)
      assert.equal(state, 'Pending')
      assert.match(reason, /The standby 127\.0\.0\.1:\d+ does not answer/)
      await audit()
      await holdsFor(1_000, 'the role stays', async () => {
        return (await stateOf(db)).state === 'Pending' && (await ana.exists())
      })
      assert.equal(await isOver(session), false, 'what the state tells')
      link.heal()
      await waitUntil('the session ends', async () => {
        await audit()
        return await isOver(session)
      })
      await waitUntil('the state says so', async () => (await stateOf(db)).state === 'Enforced')
      await waitUntil('the role is dropped', async () => !(await ana.exists()))
    },
  )

  clause(
    'GATE-328',
    'While a server of the list has not replayed the loss, or does not answer, or sessions there go on, the state is `Pending` and names…',
    async () => {
      const noor = await bringPerson(db, 'standby_readers')
      const session = await noor.connect()
      const pid = await pidOf(session)
      const { ask, mark } = await askFor(noor)
      const plain = openDatabase({ url: plainUrl('people'), poolSize: 1, searchPath: 'public' })
      try {
        await waitUntil('the standby has replayed', async () => (await ask(plain)).endsWith(goesOn(pid)))
        // The numbers of roles are those of another cluster.
        assert.equal(await ask(standby, { ...mark, system: '1' }), '')
        assert.equal(await isOver(session), false)
        // It may follow a primary that was replaced.
        assert.match(await ask(standby, { ...mark, timeline: mark.timeline + 1 }), behind)
        assert.equal(await ask(standby), '')
        assert.equal(await isOver(session), true)
        assert.equal(await ask(primary), '', 'the primary by another name')
      } finally {
        await plain.close()
      }
      assert.match(await ask(plain), /^The standby standby:1 cannot be asked/)
    },
  )

  clause(
    'GATE-327',
    'A login role that loses something loses its sessions at every server that the binding lists, also where no session of…',
    async () => {
      const noor = await bringPerson(db, 'standby_readers')
      await noor.connect()
      const url = `postgres://${encodeURIComponent(noor.user)}:${noor.password}@127.0.0.1:${pair().standby.port}/people`
      await using delayed = await openDelayed(standby, url, '-W 30')
      assert.equal((await noor.unmap()).status, 200)
      assert.equal((await stateOf(db)).state, 'Enforced')
      assert.equal(await delayed.isStarting(), false)
      await assert.rejects(delayed.query('select city from public.person'), /terminat|connection error/)
    },
  )

  clause(
    'GATE-337',
    'A session of a login role that begins at a server after this has replayed the loss goes on, also while another server of the list does not…',
    async () => {
      const ports = [pair().primary.port, pair().standby.port, link.port]
      const host = ports.map((port) => `127.0.0.1:${port}`).join(',')
      const binding = { host, database: 'people', user: pair().user, password: pair().password }
      assert.equal((await masking.send('PUT', db, { properties: { binding } })).status, 200)
      const noor = await bringPerson(db, 'standby_readers')
      const second = `${db}/roleMappings/${randomUUID()}`
      const { principalId } = noor
      await masking.send('PUT', second, { properties: { databaseRole: 'standby_auditors', principalId } })
      const before = await noor.connect()
      link.cut()
      try {
        await masking.send('DELETE', second)
        const { state, reason } = await stateOf(db)
        assert.equal(state, 'Pending')
        assert.match(reason, new RegExp(`The standby 127.0.0.1:${link.port} does not answer`))
        assert.equal(await isOver(before), true)
        const after = await noor.connect()
        for (const exempted of ['standby_plain', '']) {
          assert.equal(await exempt(exempted), 'Pending')
          assert.equal(await isOver(after), false)
        }
      } finally {
        link.heal()
      }
      await waitUntil('the state says so', async () => {
        await audit()
        return (await stateOf(db)).state === 'Enforced'
      })
    },
  )

  clause(
    'GATE-338',
    'Sessions of whatever role that a server of the list is starting when login roles lose something, and that have not…',
    async () => {
      const url = plainUrl('people').replace('standby_plain', 'standby_signal')
      const signalling = openDatabase({ url, poolSize: 1, searchPath: 'public' })
      try {
        const { ask } = await askFor(await bringPerson(db, 'standby_readers'))
        const isDone = async () => (await ask(signalling)) === ''
        await using unknown = await openDelayed(standby, plainUrl('postgres'), '-W 300')
        await waitUntil('the standby has replayed', isDone)
        assert.equal(await unknown.isOpen(), false)
        await using later = await openDelayed(standby, plainUrl('postgres'), '-W 300')
        assert.equal(await isDone(), true)
        assert.equal(await later.isOpen(), true)
      } finally {
        await signalling.close()
      }
    },
  )

  clause(
    'ENF-438',
    'A session that PostgreSQL is still starting when a role loses its exemption, and a second later still,…',
    async () => {
      const [auditors] = await primary.sql<{ oid: number }[]>`
        select oid::int8 as oid from pg_roles where rolname = 'standby_auditors'`
      const visit = visitFor(Number(auditors?.oid), 'here')
      const settle = async (left: string) => await visit(standby, await readMark(primary), left)
      await using unknown = await openDelayed(standby, plainUrl('people'), '-W 300')
      // Before the replay a slow server would lose all that start, at each turn.
      assert.match((await settle('FFFFFFFF/0')).pending.join(), behind)
      assert.equal(await unknown.isOpen(), true)
      assert.deepEqual(await settle('0/1'), { left: [], pending: [] })
      assert.equal(await unknown.isOpen(), false)
    },
  )

  clause(
    'GATE-337',
    'A session of a login role that begins at a server after this has replayed the loss goes on, also while another server of the list does not…',
    async () => {
      const noor = await bringPerson(db, 'standby_readers')
      const { ask, mark } = await askFor(noor)
      const settle = () => waitUntil('its sessions end', async () => (await ask(standby)) === '')
      const plain = openDatabase({ url: plainUrl('people'), poolSize: 1, searchPath: 'public' })
      const first = await noor.connect()
      const pid = await pidOf(first)
      try {
        await waitUntil('the standby has replayed', async () => (await ask(plain)).endsWith(goesOn(pid)))
        await settle()
        assert.equal(await isOver(first), true)
        const second = await noor.connect()
        await settle()
        assert.equal(await isOver(second), false)

        // As for a standby that follows a primary which was replaced.
        assert.match(await ask(standby, { ...mark, timeline: mark.timeline + 1 }), behind)
        assert.equal(await isOver(second), true)
        const third = await noor.connect()
        await settle()
        assert.equal(await isOver(third), true)

        const fourth = await noor.connect()
        await settle()
        assert.equal(await isOver(fourth), false)
      } finally {
        await plain.close()
      }
    },
  )
})
