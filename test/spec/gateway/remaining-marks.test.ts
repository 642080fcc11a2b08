import assert from 'node:assert/strict'
import { after } from 'node:test'
import pg from 'pg'
import { useBoundDatabase } from '../../support/bound-database.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory } from '../../support/directory.ts'
import { waitUntil } from '../../support/wait-until.ts'

/** No audit is due within the test. */
const { masking, db, bound } = useBoundDatabase()
const opened: pg.Client[] = []
after(async () => {
  for (const client of opened) await client.end().catch(() => {})
})

async function connect(connectionString: string) {
  const client = new pg.Client({ connectionString })
  client.on('error', () => {})
  opened.push(client)
  await client.connect()
  return client
}

const isOver = (client: pg.Client) =>
  client.query('select').then(
    () => false,
    () => true,
  )

clause(
  'GATE-340',
  'Where the mark of a login role stays although its sessions were ended (GATE-333), a turn follows within seconds, ends…',
  async () => {
    const { service, send } = masking
    const run = (text: string) => bound().database.sql.unsafe(text)
    const readers = await bound().createRole('readers', 'NOLOGIN')
    const principalId = await fillDirectory(service()).user()
    const mapping = `${db}/roleMappings/${principalId}`
    await send('PUT', mapping, { properties: { databaseRole: readers, principalId } })
    const [row] = await service().database.sql<{ id: string }[]>`
      select id from masked_database where key = ${db.toLowerCase()}`
    const prepare = async () => {
      const outcome = await service().enforcement.prepareLogin(row?.id ?? '', principalId)
      if (outcome.kind !== 'ready') return assert.fail(JSON.stringify(outcome))
      return outcome.login
    }
    const { role, oid, password } = await prepare()
    const url = new URL(bound().url)
    url.username = encodeURIComponent(role)
    url.password = encodeURIComponent(password)
    const readMark = async () => {
      const [mark] = await run(`select shobj_description(${oid}, 'pg_authid') as text`)
      return String(mark?.text)
    }
    const signed = await readMark()

    // Another session keeps the mark from being changed, while a login and then a turn look at it.
    const other = await connect(bound().url)
    const hold = async () => {
      await run(`comment on role "${role}" is '${signed} ending'`)
      await other.query(`begin; comment on role "${role}" is '${signed} ending'`)
      // A turn that was asked for before may have removed the mark.
      if ((await readMark()) !== signed) return true
      await other.query('rollback')
      return false
    }
    const enable = () => masking.putPolicy(db, { dataMaskingState: 'Enabled' })
    for (const look of [prepare, enable]) {
      await waitUntil('the mark is held', hold)
      await look()
      await other.query('rollback')
      await waitUntil(`the mark is removed after ${look.name}`, async () => (await readMark()) === signed)
      const session = await connect(url.href)
      await prepare()
      assert.equal(await isOver(session), false)
    }
    await send('DELETE', mapping)
  },
)
