import assert from 'node:assert/strict'
import { after, describe, mock, test } from 'node:test'
import pg from 'pg'
import { FewAtOnce } from '../../../src/kernel/few-at-once.ts'
import { useBoundDatabase } from '../../support/bound-database.ts'
import { clause } from '../../support/clause.ts'
import { apiVersion, policyUrl } from '../../support/masking.ts'
import { issuedNow } from '../../support/tokens.ts'
import { waitUntil } from '../../support/wait-until.ts'

/** As many as delay a look for longer than a change takes on a busy machine. */
const lockedTables = Array.from({ length: 60 }, (_, at) => `public.slow${at}`)

describe('looks that wait', () => {
  const { masking, db, bound } = useBoundDatabase()
  /** Looks that have come to their place in the queue. */
  const looks = mock.method(FewAtOnce.prototype, 'run')
  after(() => looks.mock.restore())

  /** A signed-in person with a role at the database. */
  async function signIn() {
    const { tokens } = masking.service()
    const claims = tokens.claimsFor({ role: 'Contributor', scope: db })
    const token = tokens.signToken({ ...claims, ...issuedNow() })
    await tokens.settled()
    const id = String(claims.oid)
    const ask = (method: string, path: string, body?: unknown, version = apiVersion) =>
      masking.service().request(method, `${path}?${version}`, { token, ...(body !== undefined && { body }) })
    const preview = (further = {}) =>
      ask('POST', `${policyUrl(db)}/preview`, {
        schemaName: 'public',
        tableName: 'person',
        top: 1,
        ...further,
      })
    return { id, ask, preview }
  }

  /** Each locked table takes a look half a second: the time that it waits for a lock. */
  async function holdTables() {
    const { url } = bound()
    const holder = new pg.Client(url)
    await holder.connect()
    for (const name of lockedTables) await holder.query(`create table if not exists ${name} (email text)`)
    await holder.query('begin')
    await holder.query(`lock table ${lockedTables.join(', ')} in access exclusive mode`)
    const { rows } = await holder.query('select pg_backend_pid() as pid')
    const countWaiting = async () =>
      (
        await bound().database.sql`
          select from pg_stat_activity where ${rows[0].pid} = any(pg_catalog.pg_blocking_pids(pid))`
      ).count
    return {
      waitForLooks: (looks: number) =>
        waitUntil('looks wait for locks', async () => (await countWaiting()) >= looks),
      release: () => holder.query('rollback'),
      [Symbol.asyncDispose]: () => holder.end(),
    }
  }

  /** Sends requests into a queue whose places are taken, and `change`s something while they wait. */
  async function whileWaiting<T>(send: () => Promise<T>[], change: () => Promise<unknown>): Promise<T[]> {
    await using tables = await holdTables()
    const taken = [1, 2].map(() => masking.send('GET', `${policyUrl(db)}/recommendations`))
    await tables.waitForLooks(2)
    const before = looks.mock.callCount()
    const sent = send()
    let answered = 0
    for (const one of sent) void one.finally(() => answered++)
    await waitUntil('the requests wait', () => looks.mock.callCount() >= before + sent.length)
    assert.equal(answered, 0)
    await change()
    await tables.release()
    const answers = await Promise.all(sent)
    for (const { status } of await Promise.all(taken)) assert.equal(status, 200)
    return answers
  }

  const revokeRole = (id: string) =>
    masking.service().database.sql`delete from role_assignment where principal_id = ${id}`
  const disable = (id: string) =>
    masking.service().database.sql`
      update directory_object set properties = properties || '{"accountEnabled": false}' where id = ${id}`

  clause(
    'MASK-240',
    'A look into a bound database waits in turn: preview, recommendations, exposures, impact, report, tables, columns…',
    async () => {
      const [demoted, disabled, other] = [await signIn(), await signIn(), await signIn()]
      const own = 'api-version=2026-11-01'
      const answers = await whileWaiting(
        () => [
          demoted.preview(),
          demoted.ask('GET', `${policyUrl(db)}/recommendations`),
          demoted.ask('GET', `${policyUrl(db)}/exposures`),
          demoted.ask('POST', `${policyUrl(db)}/impact`, {}, own),
          demoted.ask('GET', `${policyUrl(db)}/report`, undefined, own),
          demoted.ask('GET', `${db}/tables`, undefined, own),
          demoted.ask('GET', `${db}/columns`, undefined, `${own}&search=mail`),
          demoted.ask('GET', `${db}/schemas/public/tables/person/columns`, undefined, own),
          demoted.ask('GET', `${db}/schemas/public/tables/person/roles`, undefined, own),
          disabled.preview(),
          disabled.ask('GET', `${db}/tables`, undefined, own),
          other.preview(),
        ],
        () => Promise.all([revokeRole(demoted.id), disable(disabled.id)]),
      )
      const kept = answers.pop()
      assert.equal(kept?.status, 200, kept?.text)
      for (const { status, body, text } of answers) {
        assert.equal(status, 403, text)
        assert.equal(body.error.code, 'AuthorizationFailed')
        assert.equal(body.value, undefined)
      }
    },
  )

  clause(
    'ENF-156',
    'Of the requests that look into a bound database, the dry run of a state included, two run at a time on a node…',
    async () => {
      const [demoted, other] = [await signIn(), await signIn()]
      const plan = ({ ask }: typeof other) =>
        ask('GET', `${policyUrl(db)}/enforcement`, undefined, `${apiVersion}&plan=true`)
      const [refused, kept] = await whileWaiting(
        () => [plan(demoted), plan(other)],
        () => revokeRole(demoted.id),
      )
      assert.equal(refused?.status, 403, refused?.text)
      assert.equal(kept?.status, 200, kept?.text)
      assert.deepEqual(kept.body.plan, [])
    },
  )

  test('MASK-240: a role that ends while the look runs ends its answer too', async () => {
    const caller = await signIn()
    await using tables = await holdTables()
    const sent = caller.ask('GET', `${policyUrl(db)}/recommendations`)
    await tables.waitForLooks(1)
    await revokeRole(caller.id)
    await tables.release()
    const { status, text } = await sent
    assert.equal(status, 403, text)
  })

  clause(
    'MASK-241',
    'A preview takes rules and the exemption of its caller as they are when it has its place among the looks. …',
    async () => {
      const caller = await signIn()
      const policy = (exemptPrincipals: string) =>
        masking.putPolicy(db, { dataMaskingState: 'Enabled', exemptPrincipals })
      await policy(caller.id)
      const [before] = (await caller.preview()).body.rows
      assert.match(before.raw[2], /@other-mail/)
      const draft = {
        rule: { columnName: 'email', maskingFunction: 'Text', prefixSize: '9', suffixSize: '9' },
      }
      const [shown, refused] = await whileWaiting(
        () => [caller.preview(), caller.preview(draft)],
        async () => {
          await policy('')
          const contact = { schemaName: 'public', tableName: 'person', columnName: 'contact' }
          const { status, text } = await masking.putRule(db, 'contact', {
            ...contact,
            maskingFunction: 'Email',
          })
          assert.equal(status, 201, text)
        },
      )
      assert.equal(shown?.status, 200, shown?.text)
      assert.equal(shown.body.rows[0].raw, undefined)
      assert.doesNotMatch(shown.text, /other-mail|secret-mail/)
      assert.equal(refused?.status, 403, refused?.text)
    },
  )
})
