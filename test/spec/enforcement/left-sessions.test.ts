import assert from 'node:assert/strict'
import { after, afterEach, before, describe, test } from 'node:test'
import pg from 'pg'
import type { Database } from '../../../src/db/database.ts'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { RawSessions } from '../../../src/enforcement/sessions/raw-sessions.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { waitUntil } from '../../support/wait-until.ts'

const canary = 'zqcanary'

/** Sessions of roles that lost their exemption, under a binding that may not end them. */
forEachCluster((cluster) => {
  describe('sessions that outlive an exemption', () => {
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    let binding: Database
    let [auditor, owner]: string[] = []
    const clients: pg.Client[] = []
    const run = (text: string) => target.database.sql.unsafe(text)
    const mask = (...exemptRoles: string[]) =>
      reconcile(binding, policy([rule('app.people.mail')], exemptRoles))
    const open = async () => {
      const client = new pg.Client({ connectionString: target.urlOf('auditor') })
      client.on('error', () => {})
      await client.connect()
      clients.push(client)
      const { rows } = await client.query('select pg_backend_pid() as pid')
      return { client, pid: Number(rows[0].pid) }
    }
    /** A session with an open cursor. */
    const readRaw = async () => {
      const reader = await open()
      await reader.client.query('begin; declare raw cursor for select mail from app.people')
      return reader
    }
    /** As an audit does it, on whatever node: nothing is kept in the node. */
    const audit = async () => {
      const place = { database: binding, schema: 'masquerade_guard', logins: [], standbys: [] }
      const { left } = await new RawSessions(60_000).end(place, true)
      return left.notes.map(({ target: role, message }) => [
        role,
        Number(/^Session (\d+)/.exec(message)?.[1]),
      ])
    }
    const isOver = ({ client }: { client: pg.Client }) =>
      client.query('select').then(
        () => false,
        () => true,
      )

    before(async () => {
      target = await createMaskedDatabase(cluster)
      auditor = await target.createRole('auditor')
      owner = await target.createRole('owner', 'LOGIN CREATEROLE')
      await run(`create schema app authorization "${owner}"; grant usage on schema app to public;
        create table app.people (id int primary key, mail text);
        insert into app.people select n, '${canary}' from generate_series(1, 500) n;
        alter table app.people owner to "${owner}"; grant select on app.people to "${auditor}";
        grant create on database "${target.url.replace(/^.*\//, '')}" to "${owner}"`)
      binding = target.connectAs('owner')
    })
    afterEach(async () => {
      for (const client of clients.splice(0)) await client.end().catch(() => {})
      await run(`revoke pg_signal_backend from "${owner}"`)
      await reconcile(binding, policy([]))
    })
    after(() => target[Symbol.asyncDispose]())

    clause(
      'ENF-225',
      'A session of a role that lost its exemption, and that the role of the binding may not end, stays in the notes of the…',
      async () => {
        await mask(String(auditor))
        const reader = await readRaw()
        await mask()
        for (const _ of ['the withdrawal', 'an audit', 'another audit'])
          assert.deepEqual(await audit(), [[auditor, reader.pid]])
        const later = await open()
        assert.deepEqual(await audit(), [[auditor, reader.pid]])
        await run(`alter role "${auditor}" rename to "${auditor}_gone"`)
        assert.deepEqual(await audit(), [[`${auditor}_gone`, reader.pid]])
        assert.equal((await reader.client.query('fetch 1 from raw')).rows[0].mail, canary)

        await run(
          `alter role "${auditor}_gone" rename to "${auditor}"; grant pg_signal_backend to "${owner}"`,
        )
        assert.deepEqual(await audit(), [])
        // The client hears of the end before the server forgets the session.
        await waitUntil('the session ends', async () => {
          const [one] = await run(
            `select exists (select from pg_stat_activity where pid = ${reader.pid}) as left`,
          )
          return one?.left === false
        })
        assert.equal(await isOver(reader), true)
        assert.deepEqual(await audit(), [])
        assert.equal(await isOver(later), false)
        const [record] = await run('select open from masquerade_guard.policy')
        assert.deepEqual(record, { open: [] })
      },
    )

    clause(
      'ENF-359',
      'A role that could grant itself an exempt role by ADMIN, also over other roles, loses its sessions with that right as a role that was…',
      async () => {
        const [server] = await run(`select current_setting('server_version_num')::int as version`)
        // Before PostgreSQL 16 ADMIN is membership.
        if (server?.version < 160000) return
        await run(`grant pg_signal_backend to "${owner}"`)
        const aud = await target.createRole('aud', 'NOLOGIN')
        const over = await target.createRole('over', 'NOLOGIN')
        await run(`grant select on app.people to "${aud}"`)
        const administers = 'with admin true, inherit false, set false'
        for (const path of [[aud], [over, aud]]) {
          const admin = await target.createRole(`admin${path.length}`)
          const chain = [admin, ...path]
          for (const [at, role] of path.entries())
            await run(`grant "${role}" to "${chain[at]}" ${administers}`)
          await mask(aud)
          const open = async () => {
            const client = new pg.Client({ connectionString: target.urlOf(`admin${path.length}`) })
            client.on('error', () => {})
            await client.connect()
            clients.push(client)
            return { client }
          }
          const acting = await open()
          for (const role of path)
            await acting.client.query(`grant "${role}" to "${admin}"; set role "${role}"; reset role`)
          await acting.client.query(`set role "${aud}"`)
          for (const role of path.toReversed())
            await target.runAs(`admin${path.length}`, `revoke "${role}" from "${admin}" cascade`)
          await mask(aud)
          assert.deepEqual(await audit(), [])
          const { rows } = await acting.client.query('select mail from app.people limit 1')
          assert.deepEqual(rows, [{ mail: canary }], 'the role may do this at any time')
          assert.deepEqual((await mask(aud)).steps, [])

          await run(`revoke "${path[0]}" from "${admin}" cascade`)
          await mask(aud)
          assert.deepEqual(await audit(), [])
          await waitUntil('the session ends', () => isOver(acting))
          const later = await open()
          assert.deepEqual((await mask(aud)).steps, [])
          assert.deepEqual(await audit(), [])
          assert.equal(await isOver(later), false)
          await run(`revoke "${aud}" from "${over}" cascade`)
        }
      },
    )

    test('a record of the last release is upgraded with the roles whose sessions were to end', async () => {
      await mask(String(auditor))
      const reader = await readRaw()
      await run(`alter table masquerade_guard.policy drop column open, drop column exempt_oids;
        update masquerade_guard.policy set exempt = '{}', ending = '{${auditor}}'`)
      assert.deepEqual(await audit(), [])
      await mask()
      assert.deepEqual(await audit(), [[auditor, reader.pid]])
      assert.deepEqual((await mask()).steps, [])
    })

    clause(
      'ENF-226',
      'A withdrawn exemption ends the sessions of the role that was exempt, by its OID: also of one that was renamed or…',
      async () => {
        await run(`grant pg_signal_backend to "${owner}"`)
        await mask(String(auditor))
        const renamed = await readRaw()
        await run(`alter role "${auditor}" rename to "${auditor}_old"`)
        await mask(String(auditor))
        assert.deepEqual(await audit(), [])
        await waitUntil('the session of the renamed role ends', () => isOver(renamed))

        await run(`alter role "${auditor}_old" rename to "${auditor}"`)
        await mask(String(auditor))
        const former = await readRaw()
        await run(`alter role "${auditor}" rename to "${auditor}_old"`)
        await target.createRole('auditor')
        const present = await open()
        await mask(String(auditor))
        assert.deepEqual(await audit(), [])
        await waitUntil('the session of the former role ends', () => isOver(former))
        assert.equal(await isOver(present), false)

        const again = await readRaw().catch(() => open())
        await mask()
        await mask(String(auditor))
        assert.deepEqual(await audit(), [])
        assert.equal(await isOver(again), false, 'a role that is exempt again keeps its sessions')
        await run(`drop owned by "${auditor}_old"; drop role "${auditor}_old"`)
      },
    )
  })
})
