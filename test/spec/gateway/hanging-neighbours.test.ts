import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { clause } from '../../support/clause.ts'
import { fillDirectory } from '../../support/directory.ts'
import { bindingOf, createMaskedDatabase } from '../../support/masked-database.ts'
import { emailRule, freshDatabase, policyUrl, useMasking } from '../../support/masking.ts'
import { type Network, openNetwork } from '../../support/network.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { holdsFor, waitUntil } from '../../support/wait-until.ts'

type Target = Awaited<ReturnType<typeof createMaskedDatabase>>

const raw = 'ann@example.com'

/** A statement of the controller fails after 35 seconds without an answer. */
const soonMs = 15_000

/** The neighbour has login roles on the server of the other database, and its own binding does not answer. */
forEachCluster((cluster) => {
  describe('a neighbour that hangs', () => {
    const masking = useMasking({ MASQUERADE_AUDIT_SECONDS: '3600' })
    const [neighbour, shop] = [freshDatabase(), freshDatabase()]
    let [one, other]: Target[] = []
    let network: Network
    let ana = ''
    let login = ''
    const role = (name: string) => String(other?.role(name))
    const idOf = async (db: string) => {
      const [row] = await masking.service().database.sql<{ id: string }[]>`
        select id from masked_database where name = ${db.replace(/^.*\//, '')}`
      return row?.id ?? ''
    }
    const bind = async (db: string, binding: object) => {
      const put = await masking.send('PUT', db, { properties: { binding } })
      assert.ok(put.status <= 201, put.text)
    }
    const viaNetwork = () => ({ ...bindingOf(one?.url ?? ''), ...network.address })
    const exempt = async (...entries: string[]) => {
      const policy = { dataMaskingState: 'Enabled', exemptPrincipals: entries.join(';') }
      const put = await masking.putPolicy(shop, policy)
      return put.headers.get('x-masquerade-enforcement')
    }
    const state = async () => (await masking.send('GET', `${policyUrl(shop)}/enforcement`)).body
    const isRaw = async (name: string) => {
      const rows = await other?.runAs(name, 'select email from public.person').catch(() => [])
      return rows?.[0]?.email === raw
    }
    /** Ana logs in to the neighbour: her login role is a member of the mapped role. */
    const giveAna = async (databaseRole: string) => {
      const mapping = { properties: { databaseRole, principalId: ana } }
      const put = await masking.send('PUT', `${neighbour}/roleMappings/m`, mapping)
      assert.ok(put.status <= 201, put.text)
      const outcome = await masking.service().enforcement.prepareLogin(await idOf(neighbour), ana)
      assert.equal(outcome.kind, 'ready')
      if (outcome.kind === 'ready') login = outcome.login.role
      assert.equal(await holds(databaseRole), true)
    }
    const holds = async (held: string) => {
      const rows = await (other as Target).database.sql`
        select from pg_auth_members m join pg_roles l on l.oid = m.member join pg_roles h on h.oid = m.roleid
        where l.rolname = ${login} and h.rolname = ${held}`
      return rows.length === 1
    }

    before(async () => {
      one = await createMaskedDatabase(cluster)
      other = await createMaskedDatabase(cluster)
      network = await openNetwork(one.url)
      for (const target of [one, other])
        await target.database.sql.unsafe(`create table public.person (id int, email text);
          insert into public.person values (1, '${raw}'); grant usage on schema public to public`)
      for (const name of ['auditor', 'doctor', 'nurse', 'seer']) await other.createRole(name)
      for (const name of ['doctors', 'nurses', 'seers']) await other.createRole(name, 'NOLOGIN')
      await other.database.sql.unsafe(`grant "${role('doctors')}" to "${role('doctor')}";
        grant "${role('nurses')}" to "${role('nurse')}"; grant "${role('seers')}" to "${role('seer')}";
        grant select on public.person to "${role('auditor')}", "${role('doctors')}", "${role('nurses')}", "${role('seer')}"`)
      ana = await fillDirectory(masking.service()).user()
      await bind(neighbour, viaNetwork())
      await bind(shop, bindingOf(other.url))
      for (const db of [neighbour, shop])
        assert.equal((await masking.putRule(db, 'mail', emailRule)).status, 201)
    })
    after(async () => {
      network?.close()
      await one?.[Symbol.asyncDispose]()
      await other?.[Symbol.asyncDispose]()
    })

    clause(
      'ENF-400',
      'The server of another bound database delays no withdrawal of an exemption, and no answer to a change of the policy…',
      async () => {
        await giveAna(role('doctors'))
        assert.equal(await exempt(role('auditor')), 'Enforced')
        assert.equal(await isRaw('auditor'), true)
        network.silence()
        const from = performance.now()
        // One change exempts a role of the neighbour's people, the next one withdraws an exemption.
        const adding = exempt(role('auditor'), role('doctors'))
        await waitUntil('it is stored', async () => {
          const { exemptPrincipals } = (await masking.send('GET', policyUrl(shop))).body.properties
          return exemptPrincipals.includes(role('doctors'))
        })
        const withdrawing = exempt(role('doctors'))
        await waitUntil('the auditor has lost raw values', async () => !(await isRaw('auditor')), {
          withinMs: soonMs,
        })
        assert.deepEqual([await adding, await withdrawing], ['Pending', 'Pending'])
        assert.ok(performance.now() - from < soonMs, 'changes are answered')
        assert.equal(await exempt(role('auditor'), role('doctors')), 'Pending')
        assert.equal(await isRaw('auditor'), true, 'other entries count')
        assert.equal(await exempt(), 'Enforced')
        assert.ok(performance.now() - from < 2 * soonMs)
      },
    )

    clause(
      'GATE-303',
      'A new entry of the exempt list counts only where no login role of another database is a member of it,…',
      async () => {
        assert.equal(await holds(role('doctors')), true)
        assert.equal(await exempt(role('doctors')), 'Pending')
        const { state: pending, reason } = await state()
        assert.equal(pending, 'Pending')
        assert.match(reason, /^"doctors_\w+" is not exempt so far: login roles of another database /)
        assert.ok(!reason.includes(neighbour) && !reason.includes(login), reason)
        await holdsFor(1500, 'it is closed', async () => !(await isRaw('doctor')))
        // The neighbour answers again, and loses the role before the entry counts.
        network.close()
        network = await openNetwork(one?.url ?? '', network.address.port)
        await waitUntil('it is exempt', async () => {
          if (!(await isRaw('doctor'))) return false
          assert.equal(await holds(role('doctors')), false)
          return true
        })
        await waitUntil('and the state says so', async () => (await state()).state === 'Enforced')
        assert.equal(await exempt(), 'Enforced')
      },
    )

    clause(
      'GATE-303',
      'A new entry of the exempt list counts only where no login role of another database is a member of it,…',
      async () => {
        await giveAna(role('nurses'))
        // The server of the neighbour is gone: its connections are refused at once.
        network.close()
        assert.equal(await exempt(role('nurses')), 'Pending')
        assert.equal(await isRaw('nurse'), false)
        await other?.database.sql.unsafe(`revoke "${role('nurses')}" from "${login}"`)
        await waitUntil('an operator revoked it', () => isRaw('nurse'))
        await waitUntil('and the state says so', async () => (await state()).state === 'Enforced')
      },
    )

    clause(
      'GATE-312',
      'A role that becomes exempt as a member of an exempt role, by GRANT, is held as a new entry is (GATE-303)…',
      async () => {
        network = await openNetwork(one?.url ?? '', network.address.port)
        assert.equal(await exempt(), 'Enforced')
        await giveAna(role('nurses'))
        assert.equal(await exempt(role('seers')), 'Enforced')
        assert.equal(await isRaw('seer'), true)
        network.silence()
        await other?.database.sql.unsafe(`grant "${role('seers')}" to "${role('nurses')}"`)
        const audit = () => masking.service().database.sql`update enforcement_state set next_check_at = now()`
        const seesRaw = async (name: string) => {
          const [row] = await (other as Target).database.sql<{ can: boolean }[]>`
            select has_column_privilege(${name}, 'public.person', 'email', 'SELECT') as can`
          return row?.can === true
        }
        await audit()
        const reason = await waitUntil('the audit has come', async () => {
          assert.equal(await seesRaw(login), false, 'the login role of the neighbour reads raw values')
          const now = await state()
          return now.state === 'Pending' && now.reason.includes('not exempt so far') && now.reason
        })
        assert.match(reason, /"nurses_\w+" is not exempt so far: login roles of another database /)
        await holdsFor(1500, 'it is closed', async () => !(await seesRaw(login)))
        for (const name of ['seer', 'nurse'])
          assert.equal(await isRaw(name), true, 'other members are exempt')
        // The neighbour answers again, and loses the role before it counts as exempt.
        network.close()
        network = await openNetwork(one?.url ?? '', network.address.port)
        await waitUntil('it is exempt', async () => {
          await audit()
          if (!(await seesRaw(role('nurses')))) return false
          assert.equal(await holds(role('nurses')), false)
          return true
        })
        await waitUntil('and the state says so', async () => (await state()).state === 'Enforced')
      },
    )
  })
})
