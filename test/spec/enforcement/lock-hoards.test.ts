import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import pg from 'pg'
import { type Database, openDatabase } from '../../../src/db/database.ts'
import { hoards } from '../../attacks/cases/stalls.ts'
import { clause } from '../../support/clause.ts'
import { startCluster } from '../../support/cluster.ts'
import { bindingOf } from '../../support/masked-database.ts'
import { freshDatabase, policyUrl, useMasking } from '../../support/masking.ts'
import { forEachCluster, hasAllVariants } from '../../support/postgres.ts'
import { promised, waitUntil } from '../../support/wait-until.ts'

const limitMs = 1_000
const masking = useMasking({
  MASQUERADE_AUDIT_SECONDS: '3600',
  MASQUERADE_LOCK_LIMIT_SECONDS: String(limitMs / 1000),
})
const bindings = {
  ...(hasAllVariants && { 'is a superuser': 'LOGIN SUPERUSER' }),
  'may end sessions': 'LOGIN CREATEROLE IN ROLE pg_signal_backend',
  'may end none': 'LOGIN CREATEROLE',
}

forEachCluster((name) => {
  let cluster: Awaited<ReturnType<typeof startCluster>>
  let admin: Database
  const urlOf = (role: string, database: string) => {
    const url = new URL(cluster.url)
    return Object.assign(url, { username: role, password: 'secret', pathname: `/${database}` }).href
  }
  const connectAs = async (role: string, database: string) => {
    const client = new pg.Client(urlOf(role, database))
    client.on('error', () => {})
    await client.connect()
    return client
  }
  before(async () => {
    // Its own: nobody else gets a lock while a case is played.
    cluster = await startCluster(name)
    admin = openDatabase({ url: cluster.url, poolSize: 1, searchPath: 'pg_catalog' })
    await admin.sql.unsafe(`create role analyst login password 'secret';
        create role auditor login password 'secret'`)
  })
  after(async () => {
    await admin.close()
    await cluster.stop()
  })

  for (const [kind, attributes] of Object.entries(bindings))
    describe(`with a binding that ${kind}`, () =>
      clause(
        'ENF-143',
        'Where the server has no lock left, the state names the sessions with more than their share of them. Those of masked…',
        async () => {
          const [db, at] = [freshDatabase(), Object.keys(bindings).indexOf(kind)]
          const [owner, database] = [`owner_${at}`, `shop_${at}`]
          await admin.sql.unsafe(`create role ${owner} ${attributes} password 'secret'`)
          await admin.sql.unsafe(`create database ${database} owner ${owner}`)
          const own = await connectAs(owner, database)
          await own.query(`create table public.people (mail text);
            grant select on public.people to analyst, auditor`)
          await own.end()
          const bound = await masking.send('PUT', db, {
            properties: { binding: bindingOf(urlOf(owner, database)) },
          })
          assert.equal(bound.status, 201, bound.text)
          const column = { schemaName: 'public', tableName: 'people', columnName: 'mail' }
          const put = await masking.putRule(db, 'mail', { ...column, maskingFunction: 'Default' })
          assert.equal(put.status, 201, put.text)
          const exempt = (exemptPrincipals = '') =>
            masking.putPolicy(db, { dataMaskingState: 'Enabled', exemptPrincipals })
          for (const { id, run, endless } of hoards) {
            await exempt('auditor')
            const reader = await connectAs('auditor', database)
            await reader.query('select mail from public.people')
            const thief = await connectAs('analyst', database)
            const [{ pid }] = (await thief.query('select pg_backend_pid() as pid')).rows
            const ended = new Promise<void>((resolve) => thief.once('end', resolve))
            let [from, state] = [0, 'Enforced'] as [number, string | null]
            // A lock that another session gives back in between is enough for the turn: it is taken as well then.
            for (let tries = 3; state === 'Enforced' && tries > 0; tries--) {
              if (from !== 0) await exempt('auditor')
              for (const text of run.split(/;;\s+/)) await thief.query(text)
              if (endless !== undefined) thief.query(endless).catch(() => {})
              from = performance.now()
              state = (await exempt()).headers.get('x-masquerade-enforcement')
            }
            assert.equal(state, 'Pending', id)
            const { body } = await masking.send('GET', `${policyUrl(db)}/enforcement`)
            assert.match(body.reason, new RegExp(`session ${pid} of role "analyst"`), id)
            if (kind === 'may end none') {
              await thief.end()
              await reader.end()
              await waitUntil('the policy is enforced', () => isEnforced(db))
              return
            }
            await ended
            await waitUntil('the policy is enforced', () => isEnforced(db), { withinMs: 5_000 })
            const tookMs = performance.now() - from
            assert.ok(tookMs < limitMs + promised(5_000), `${id}: ${tookMs} ms`)
            const again = await connectAs('auditor', database)
            await assert.rejects(again.query('select mail from public.people'), /permission denied/)
            await again.end()
            await reader.end().catch(() => {})
          }
        },
      ))
})

async function isEnforced(db: string): Promise<boolean> {
  const { body } = await masking.send('GET', `${policyUrl(db)}/enforcement`)
  return body.state === 'Enforced'
}
