import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import type { Database } from '../../../src/db/database.ts'
import { endRawSessions } from '../../../src/masks/control/open-record.ts'
import { takeTurn } from '../../../src/masks/turn.ts'
import { noteOpen } from '../../../src/sessions/open-sessions.ts'
import { clause } from '../../support/clause.ts'
import { openDelayed } from '../../support/delayed-session.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { waitUntil } from '../../support/wait-until.ts'

const canary = 'zqcanary'
const read = 'select mail from app.people'

/** The role that the service connects as. */
const bindings = ['a superuser', 'a role that may end sessions'] as const

/** Sessions whose role is not known yet when it loses an exemption. */
forEachCluster((cluster) => {
  for (const kind of bindings)
    describe(`sessions that start, under ${kind}`, () => {
      let target: Awaited<ReturnType<typeof createMaskedDatabase>>
      let binding: Database
      let [auditor, bob, owner]: string[] = []
      const run = (text: string) => target.database.sql.unsafe(text)
      const mask = () => takeTurn(binding, policy([rule('app.people.mail')], [String(auditor)]))
      const delay = (name: string, options: string) =>
        openDelayed(target.database, target.urlOf(name), options)
      /** As an audit does it, on whatever node. Returns the sessions that the notes name. */
      const audit = async () => {
        const options = { logins: [], hasStandbys: false, isAllClosed: true }
        const notes = noteOpen(await endRawSessions(binding, await mask(), options))
        return notes.map(({ target: role, message }) => [role, Number(/^Session (\d+)/.exec(message)?.[1])])
      }

      before(async () => {
        target = await createMaskedDatabase(cluster)
        auditor = await target.createRole('auditor', 'NOLOGIN')
        bob = await target.createRole('bob')
        owner = await target.createRole('owner', 'LOGIN CREATEROLE')
        await run(`create schema app authorization "${owner}"; grant usage on schema app to public;
          create table app.people (id int primary key, mail text); insert into app.people values (1, '${canary}');
          alter table app.people owner to "${owner}"; grant select on app.people to "${auditor}";
          grant create on database "${target.url.replace(/^.*\//, '')}" to "${owner}"`)
        await run(`grant pg_signal_backend to "${owner}"`)
        binding = kind === 'a superuser' ? target.database : target.connectAs('owner')
      })
      after(async () => {
        await takeTurn(binding, policy([]))
        await target[Symbol.asyncDispose]()
      })

      clause(
        'ENF-438',
        'A session that PostgreSQL is still starting when a role loses its exemption, and a second later still,…',
        async () => {
          await run(`grant "${auditor}" to "${bob}"`)
          await mask()
          await using delayed = await delay('bob', `-W 30 -c role=${auditor}`)
          assert.deepEqual(await audit(), [])
          assert.equal(await delayed.isOpen(), true, 'of a role that is exempt')
          await run(`revoke "${auditor}" from "${bob}"`)
          await mask()
          await waitUntil('nothing is left', async () => {
            const notes = await audit()
            const [record] = await run('select open from masquerade_guard.policy')
            return notes.length === 0 && record?.open.length === 0
          })
          await assert.rejects(delayed.query(read), /terminat|connection error/)
        },
      )
    })
})
