import assert from 'node:assert/strict'
import pg from 'pg'
import { clause } from '../../support/clause.ts'
import { bindingOf, createMaskedDatabase } from '../../support/masked-database.ts'
import { freshDatabase, policyUrl, useMasking } from '../../support/masking.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { waitUntil } from '../../support/wait-until.ts'

const masking = useMasking({ MASQUERADE_AUDIT_SECONDS: '3600', MASQUERADE_LOCK_LIMIT_SECONDS: '1' })

forEachCluster((cluster) => {
  clause(
    'ENF-73',
    'A withdrawn exemption ends raw reads within two seconds while another role holds a lock, or twins…',
    async () => {
      await using target = await createMaskedDatabase(cluster)
      const db = freshDatabase()
      const { sql } = target.database
      const clients: pg.Client[] = []
      const open = async (connectionString: string) => {
        const client = new pg.Client({ connectionString })
        client.on('error', () => {})
        await client.connect()
        clients.push(client)
        return client
      }
      const isOver = (client: pg.Client, text: string) =>
        client.query(text).then(
          () => false,
          () => true,
        )
      const mask = async (tableName: string, columnName: string) => {
        const body = { schemaName: 'app', tableName, columnName, maskingFunction: 'Default' }
        return (await masking.putRule(db, tableName, body)).headers.get('x-masquerade-enforcement')
      }
      const report = async () => (await masking.send('GET', `${policyUrl(db)}/enforcement`)).body
      const [analyst, keeper] = [await target.createRole('analyst'), await target.createRole('keeper')]
      const auditor = await target.createRole('auditor')
      const exempt = (exemptPrincipals: string) =>
        masking.putPolicy(db, { dataMaskingState: 'Enabled', exemptPrincipals })
      await sql.unsafe(`create schema app; grant usage on schema app to public; create table app.person (id int, mail text);
        create table app.salary (id int, pay text); create table app.card (id int, number text);
        insert into app.salary select n, 'raw' from generate_series(1, 10000) n; insert into app.card values (1, 'raw');
        alter table app.salary owner to "${keeper}"; alter table app.card owner to "${keeper}";
        grant select on app.person, app.salary, app.card to "${analyst}", "${auditor}"; grant select (id) on app.card to "${analyst}" with grant option`)
      await masking.send('PUT', db.replace(/\/databases\/.*/, ''), {})
      const bound = await masking.send('PUT', db, { properties: { binding: bindingOf(target.url) } })
      assert.equal(bound.status, 201, bound.text)
      await exempt(auditor)
      assert.equal(await mask('person', 'mail'), 'Enforced')

      // The owner of the twins of keeper's tables cannot be made: a superuser's session, which is never ended, holds its name.
      const [owner] = await sql<{ name: string }[]>`
        select 'masquerade_twins_' || d.oid || '_' || r.oid as name from pg_roles r, pg_database d
        where rolname = ${keeper} and datname = current_database()`
      const holder = await open(target.url)
      await holder.query(`begin; create role "${owner?.name}"`)
      const reader = await open(target.urlOf('auditor'))
      await reader.query(
        'begin; declare old no scroll cursor for select pay from app.salary; fetch 1 from old',
      )
      const blocker = await open(target.urlOf('analyst'))
      await blocker.query('begin; grant select (id) on app.card to public')
      try {
        assert.equal(await mask('salary', 'pay'), 'Pending')
        assert.match((await report()).reason, /"app"."salary" waits for a lock that session \d+ of role/)
        await exempt('')
        await waitUntil('the cursor ends', () => isOver(reader, 'fetch 1 from old'))
        await mask('card', 'number')
        const readCard = () => target.runAs('analyst', 'select number from app.card')
        await waitUntil('the card is closed', () =>
          readCard().then(
            () => false,
            ({ message }: Error) => /permission denied/.test(message),
          ),
        )
        assert.ok(await isOver(blocker, 'select'))
      } finally {
        for (const client of clients) await client.end().catch(() => {})
      }
      await waitUntil('the policy is enforced', async () => (await report()).state === 'Enforced')
    },
  )
})
