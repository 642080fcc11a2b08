import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { clause } from '../../support/clause.ts'
import { bindingOf, createMaskedDatabase } from '../../support/masked-database.ts'
import { freshDatabase, policyUrl, useMasking } from '../../support/masking.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { waitUntil } from '../../support/wait-until.ts'

const canary = 'zqcanary'
const masking = useMasking({ MASQUERADE_AUDIT_SECONDS: '3600' })

forEachCluster((cluster) => {
  for (const isSuperuser of [true, false])
    describe(`a masked role that owns the database, with ${isSuperuser ? "a superuser's binding" : 'a binding that owns the tables'}`, () => {
      const db = freshDatabase()
      let target: Awaited<ReturnType<typeof createMaskedDatabase>>
      let [analyst, auditor, owner, database]: string[] = []
      const run = (text: string) => target.database.sql.unsafe(text)
      const asOwner = (text: string) => target.runAs('analyst', text)
      const report = async () => (await masking.send('GET', `${policyUrl(db)}/enforcement`)).body
      const put = async (tableName: string, columnName: string, schemaName = 'app') => {
        const body = { schemaName, tableName, columnName, maskingFunction: 'Default' }
        const { headers, status, text } = await masking.putRule(db, tableName, body)
        assert.ok(status < 300, text)
        return headers.get('x-masquerade-enforcement')
      }
      const exempt = (exemptPrincipals = '') =>
        masking.send('PUT', policyUrl(db), { properties: { dataMaskingState: 'Enabled', exemptPrincipals } })
      const reads = async (name: string, text: string) =>
        (await target.runAs(name, text)).map((row) => Object.values(row)[0])
      const isDenied = (name: string, text: string) => assert.rejects(reads(name, text), /permission denied/)

      before(async () => {
        target = await createMaskedDatabase(cluster)
        analyst = await target.createRole('analyst')
        auditor = await target.createRole('auditor')
        owner = await target.createRole('owner', 'LOGIN CREATEROLE')
        database = target.url.replace(/^.*\//, '')
        await run(`create schema app; create schema other; grant usage on schema app, other to "${owner}", "${auditor}";
          create table app.people (id int, mail text); create table app.orders (id int, card text);
          create table other.things (id int, mail text); insert into app.people values (1, '${canary}');
          insert into app.orders values (1, '${canary}'); insert into other.things values (1, '${canary}');
          alter table app.people owner to "${owner}"; alter table app.orders owner to "${owner}"; alter table other.things owner to "${owner}";
          grant select, update on app.people, app.orders, other.things to "${analyst}", "${auditor}";
          grant usage on schema app, other to "${owner}" with grant option;
          grant create on database "${database}" to "${owner}"; grant pg_signal_backend to "${owner}";
          alter database "${database}" owner to "${analyst}"; alter schema app owner to "${analyst}"; alter schema other owner to "${analyst}"`)
        await masking.send('PUT', db.replace(/\/databases\/.*/, ''), {})
        const binding = bindingOf(isSuperuser ? target.url : target.urlOf('owner'))
        const bound = await masking.send('PUT', db, { properties: { binding } })
        assert.equal(bound.status, 201, bound.text)
        assert.equal(await put('people', 'mail'), 'Enforced')
      })
      after(() => target[Symbol.asyncDispose]())

      clause(
        'ENF-164',
        'A masked role that may end sessions does not end the service. What it delays, where the role of the binding is no superuser, is enforced when it stops.',
        async () => {
          await run(`grant pg_signal_backend to "${analyst}"`)
          await exempt(auditor)
          assert.deepEqual(await reads('auditor', 'select mail from app.people'), [canary])
          const ours = `application_name like 'masquerade%' and datname = current_database() and usename = '${owner}'`
          let isOver = false
          const attacker = target.connectAs('analyst').sql
          const attack = (async () => {
            while (!isOver)
              await attacker.unsafe(`select pg_terminate_backend(pid) from pg_stat_activity where ${ours}`)
          })()
          try {
            for (let at = 0; at < 3; at++) assert.equal((await exempt()).status, 200)
          } finally {
            isOver = true
            await attack
          }
          await waitUntil('it is enforced', async () => {
            await exempt()
            return (await report()).state === 'Enforced'
          })
          await isDenied('auditor', 'select mail from app.people')
          await run(`revoke pg_signal_backend from "${analyst}"`)
        },
      )

      clause(
        'ENF-150',
        'A masked role that owns the database or a schema, and revokes CREATE, USAGE or CONNECT from the role of the…',
        async () => {
          await exempt(auditor)
          await asOwner(`revoke create on database "${database}" from "${owner}"`)
          // What has its records goes on: an exemption that is withdrawn, and a rule in a schema that has twins.
          await exempt()
          assert.equal(await put('orders', 'card'), 'Enforced')
          for (const text of ['select mail from app.people', 'select card from app.orders'])
            await isDenied('auditor', text)
          assert.equal(await put('things', 'mail', 'other'), isSuperuser ? 'Enforced' : 'Failed')
          await isDenied('auditor', 'select mail from other.things')
          if (!isSuperuser) {
            const { reason } = await report()
            assert.match(reason, /^"other"."things" could not be changed: .* Masked roles cannot read it\./)
            const statement = `GRANT CREATE ON DATABASE "${database}" TO "${owner}"`
            assert.ok(reason.includes(`Run: ${statement};`), reason)
            await run(statement)
          }
          assert.equal(await put('things', 'mail', 'other'), 'Enforced')

          await exempt(auditor)
          await asOwner(`revoke usage on schema app from "${owner}" cascade`)
          const { headers } = await exempt()
          assert.equal(headers.get('x-masquerade-enforcement'), isSuperuser ? 'Enforced' : 'Failed')
          await isDenied('auditor', 'select mail from other.things')
          if (!isSuperuser) {
            const { reason } = await report()
            for (const table of ['people', 'orders'])
              assert.ok(reason.includes(`"app"."${table}" could not be changed: permission denied`), reason)
            const statement = `GRANT USAGE ON SCHEMA "app" TO "${owner}" WITH GRANT OPTION`
            assert.ok(reason.includes(`Run: ${statement};`), reason)
            await run(statement)
            await exempt()
          }
          await isDenied('auditor', 'select mail from app.people')

          await asOwner(
            `grant connect on database "${database}" to "${auditor}"; revoke connect on database "${database}" from public`,
          )
          const service = `application_name like 'masquerade%' and datname = current_database() and pid <> pg_backend_pid()`
          await run(`select pg_terminate_backend(pid, 5000) from pg_stat_activity where ${service}`)
          await exempt()
          if (!isSuperuser) {
            const statement = `GRANT CONNECT ON DATABASE "${database}" TO "${owner}"`
            await waitUntil('the state has the statement', async () =>
              String((await report()).reason).includes(`Run: ${statement};`),
            )
            await run(statement)
          }
          await isDenied('auditor', 'select mail from app.people')
          await waitUntil('it is enforced', async () => {
            await exempt()
            return (await report()).state === 'Enforced'
          })
          assert.deepEqual(await reads('auditor', 'select mail from masked_app.people'), ['XXXX'])
        },
      )
    })
})
