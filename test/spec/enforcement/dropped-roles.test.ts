import assert from 'node:assert/strict'
import { after, afterEach, before, describe } from 'node:test'
import pg from 'pg'
import type { Holder } from '../../../src/sessions/holder.ts'
import { describeBlocker, findLockHolders, SessionsInTheWay } from '../../../src/sessions/in-the-way.ts'
import { endInTheWay } from '../../../src/sessions/watch-waits.ts'
import { bindingsAtHand, block } from '../../support/blocking-sessions.ts'
import { clause } from '../../support/clause.ts'
import { bindingOf, createMaskedDatabase } from '../../support/masked-database.ts'
import { freshDatabase, policyUrl, ruleUrl, useMasking } from '../../support/masking.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { waitUntil } from '../../support/wait-until.ts'

const masking = useMasking({ MASQUERADE_AUDIT_SECONDS: '3600', MASQUERADE_LOCK_LIMIT_SECONDS: '1' })

type Note = { code: string; message: string }

/** A session outlives its role. A role with CREATEROLE makes another one, has it open a session, and drops it. */
forEachCluster((cluster) => {
  for (const { kind, isSuperuser, endsSessions } of bindingsAtHand)
    describe(`sessions of dropped roles, with ${kind}`, () => {
      const db = freshDatabase()
      let target: Awaited<ReturnType<typeof createMaskedDatabase>>
      let [analyst, auditor]: string[] = []
      let made = 0
      const clients: pg.Client[] = []
      const run = (text: string) => target.database.sql.unsafe(text)
      /** A session of a role that was a member of the given one, and is dropped. */
      const openDropped = async (member: string, ...texts: string[]) => {
        const name = `gone${++made}`
        const role = await target.createRole(name)
        await run(`grant "${member}" to "${role}"`)
        const client = new pg.Client({
          connectionString: target.urlOf(name),
          application_name: 'night job',
        })
        client.on('error', () => {})
        await client.connect()
        clients.push(client)
        const { rows } = await client.query(
          'select pg_backend_pid() as pid, oid::int8 as oid from pg_roles where rolname = current_user',
        )
        for (const text of texts) await client.query(text)
        await run(`drop role "${role}"`)
        return {
          client,
          pid: Number(rows[0].pid),
          name: `dropped role ${rows[0].oid}`,
        }
      }
      let exemptPrincipals = ''
      const exempt = (entries = '') => {
        exemptPrincipals = entries
        return masking.send('PUT', policyUrl(db), {
          properties: { dataMaskingState: 'Enabled', exemptPrincipals },
        })
      }
      const putRule = (tableName: string, columnName: string) =>
        masking.putRule(db, tableName, {
          schemaName: 'app',
          tableName,
          columnName,
          maskingFunction: 'Default',
        })
      const putRules = async () => {
        await putRule('people', 'mail')
        await putRule('orders', 'card')
      }
      const report = async () => (await masking.send('GET', `${policyUrl(db)}/enforcement`)).body
      const untilEnforced = () =>
        waitUntil('the policy is enforced', async () => (await report()).state === 'Enforced')
      const isOver = (client: pg.Client, text = 'select 1') =>
        client.query(text).then(
          () => false,
          () => true,
        )
      /** No turn has seen the role of the session: one may run at any time, and the next one ends what was seen. */
      const openUnseen = async (...given: Parameters<typeof openDropped>) => {
        for (;;) {
          const session = await openDropped(...given)
          await exempt(exemptPrincipals)
          await untilEnforced()
          if (!(await isOver(session.client))) return session
          await session.client.end()
        }
      }
      const isDenied = (text: string) =>
        target.runAs('auditor', text).then(
          () => false,
          (error: Error) => /permission denied/.test(error.message),
        )
      const untilNoted = (start: string) =>
        waitUntil(`a note about ${start}`, async () =>
          (await report()).notes.find(
            ({ code, message }: Note) => code === 'OpenSession' && message.startsWith(start),
          ),
        )

      before(async () => {
        target = await createMaskedDatabase(cluster)
        analyst = await target.createRole('analyst')
        auditor = await target.createRole('auditor')
        const owner = await target.createRole('owner', 'LOGIN CREATEROLE')
        const database = target.url.replace(/^.*\//, '')
        await run(`create schema app; grant usage on schema app to public;
          create table app.people (id int, mail text); create table app.orders (id int, card text);
          insert into app.people values (1, 'raw'), (2, 'raw'); insert into app.orders values (1, 'raw'), (2, 'raw');
          alter schema app owner to "${owner}"; alter table app.people owner to "${owner}"; alter table app.orders owner to "${owner}";
          grant select, update on app.people, app.orders to "${analyst}", "${auditor}";
          grant select (id) on app.people to "${analyst}" with grant option;
          grant create on database "${database}" to "${owner}", "${analyst}"`)
        if (endsSessions) await run(`grant pg_signal_backend to "${owner}"`)
        await masking.send('PUT', db.replace(/\/databases\/.*/, ''), {})
        const binding = bindingOf(isSuperuser ? target.url : target.urlOf('owner'))
        const bound = await masking.send('PUT', db, { properties: { binding } })
        assert.equal(bound.status, 201, bound.text)
      })
      afterEach(async () => {
        for (const client of clients.splice(0)) await client.end().catch(() => {})
      })
      after(() => target[Symbol.asyncDispose]())

      clause(
        'ENF-296',
        'Sessions of masked roles that take turns at holding a lock keep no raw value readable for longer than…',
        async () => {
          await putRules()
          const unmask = async () => {
            await masking.send('DELETE', ruleUrl(db, 'people'))
            await untilEnforced()
          }
          await unmask()
          const holder = await openDropped(String(analyst), block)
          await putRule('people', 'mail')
          if (!endsSessions) {
            const { reason } = await report()
            assert.ok(reason.includes(`session ${holder.pid} of ${holder.name} (night job) holds`), reason)
            assert.ok(reason.includes(`SELECT pg_terminate_backend(${holder.pid})`), reason)
            await run(`select pg_terminate_backend(${holder.pid})`)
          }
          await untilEnforced()
          assert.ok(await isOver(holder.client))
          assert.ok(await isDenied('select mail from app.people'))

          await unmask()
          const gid = `of ${analyst}`
          const preparer = await openDropped(String(analyst), `${block}; prepare transaction '${gid}'`)
          await putRule('people', 'mail')
          if (!isSuperuser) {
            const { reason } = await report()
            assert.ok(reason.includes(`prepared transaction '${gid}' of ${preparer.name} holds`), reason)
            await run(`rollback prepared '${gid}'`)
          }
          await untilEnforced()
          assert.ok(await isDenied('select mail from app.people'))

          if (!endsSessions) return

          const binding = isSuperuser ? target.database : target.connectAs('owner')
          // A name is held by its transaction, whichever role is to own the schema.
          const namer = await openDropped(
            String(analyst),
            `set role "${analyst}"`,
            'begin; create schema masquerade_other',
          )
          const inTheWay = new SessionsInTheWay(0, () => {})
          const clear = async (holders: readonly Holder[]) => {
            const waiting = [{ target: '', oids: [], holders, isClosed: false }]
            const { blockers, ended } = await inTheWay.clear('one', { sql: binding.sql, exempt: [], waiting })
            inTheWay.close()
            assert.equal(ended, 1)
            return blockers.map(describeBlocker)
          }
          assert.deepEqual(await clear([{ pid: namer.pid }]), [
            `session ${namer.pid} of ${namer.name} (night job)`,
          ])
          await waitUntil('it ends', () => isOver(namer.client))
          const hoard = await openDropped(
            String(analyst),
            'select count(pg_advisory_lock(pg_backend_pid(), n)) from generate_series(1, 1001) n',
          )
          assert.deepEqual(await clear(await findLockHolders(binding.sql)), [
            `session ${hoard.pid} of ${hoard.name} (night job)`,
          ])
          await waitUntil('it ends', () => isOver(hoard.client))
          const waited = await openDropped(String(analyst))
          await endInTheWay(binding.sql, [], [waited.pid])
          await waitUntil('it ends', () => isOver(waited.client))
        },
      )

      clause(
        'ENF-226',
        'A withdrawn exemption ends the sessions of the role that was exempt, by its OID, and those of roles…',
        async () => {
          await putRules()
          await exempt(auditor)
          await untilEnforced()
          const cursor = await openUnseen(
            String(auditor),
            'begin; declare raw cursor for select card from app.orders',
            'fetch 1 from raw',
          )
          const other = await target.createRole(`other${made}`)
          await exempt(`${auditor};${other}`)
          await untilEnforced()
          assert.ok(!(await isOver(cursor.client)), 'a further exemption ends nothing')
          await exempt(other)
          if (!endsSessions) {
            await untilNoted(`Session ${cursor.pid} of ${cursor.name}`)
            await run(`select pg_terminate_backend(${cursor.pid})`)
          }
          await waitUntil('it ends', () => isOver(cursor.client, 'fetch 1 from raw'))
        },
      )

      clause(
        'ENF-491',
        'The impact of a proposed policy (MASK-137) lists the sessions that end by ENF-226, also of roles that…',
        async () => {
          await putRules()
          const clerk = await target.createRole('clerk')
          await exempt(`${auditor};${clerk}`)
          await untilEnforced()
          const { pid, client } = await openDropped(String(auditor))
          const openExempt = async () => {
            const session = new pg.Client({ connectionString: target.urlOf('clerk') })
            session.on('error', () => {})
            await session.connect()
            clients.push(session)
            return session
          }
          const { rows } = await (await openExempt()).query('select pg_backend_pid() as pid')
          const preview = async (entries: unknown[]) => {
            const properties = { policy: { dataMaskingState: 'Enabled', exemptPrincipals: entries } }
            const url = `${policyUrl(db)}/impact?api-version=2026-11-01`
            const { ended } = (await masking.send('POST', url, { properties })).body
            return ended.map((one: { pid: number }) => one.pid).sort()
          }
          const both = [pid, rows[0].pid].sort()
          assert.deepEqual(await preview([auditor, clerk]), [])
          assert.deepEqual(await preview([clerk]), [pid])
          assert.deepEqual(await preview([auditor]), both)
          // By its OID: the policy names no role any more.
          await run(`alter role "${clerk}" rename to "${clerk} renamed"`)
          assert.deepEqual(await preview([auditor, clerk]), both)
          await run(`alter role "${clerk} renamed" rename to "${clerk}"`)
          if (!endsSessions) return
          // An audit that saw the other name ended the first session.
          await exempt(`${auditor};${clerk}`)
          const exemptSession = await openExempt()
          await exempt(clerk)
          await waitUntil('what was listed ends', () => isOver(client))
          assert.ok(!(await isOver(exemptSession)))
        },
      )
    })
})
