import assert from 'node:assert/strict'
import { after, afterEach, before, describe } from 'node:test'
import pg from 'pg'
import type { Database } from '../../../src/db/database.ts'
import { endRawSessions } from '../../../src/masks/control/open-record.ts'
import { takeTurn } from '../../../src/masks/turn.ts'
import { noteOpen } from '../../../src/sessions/open-sessions.ts'
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
    let exempt: string[] = []
    const mask = (...exemptRoles: string[]) => {
      exempt = exemptRoles
      return takeTurn(binding, policy([rule('app.people.mail')], exempt))
    }
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
      const options = { logins: [], hasStandbys: false, isAllClosed: true }
      const notes = noteOpen(await endRawSessions(binding, await mask(...exempt), options))
      return notes.map(({ target: role, message }) => [role, Number(/^Session (\d+)/.exec(message)?.[1])])
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
      await takeTurn(binding, policy([]))
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
      'ENF-226',
      'A withdrawn exemption ends the sessions of the role that was exempt, by its OID, and those of roles…',
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
