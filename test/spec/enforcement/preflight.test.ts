import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { clause } from '../../support/clause.ts'
import { bindingOf, createMaskedDatabase } from '../../support/masked-database.ts'
import { freshDatabase, policyUrl, useMasking } from '../../support/masking.ts'
import { forEachCluster } from '../../support/postgres.ts'

interface Detail {
  readonly code: string
  readonly message: string
}

/** What stands after 'Run:', as an operator would copy it. */
const statementsIn = (text: string) => text.split('Run: ')[1] ?? ''

describe('before a database is bound', () => {
  const masking = useMasking({ MASQUERADE_AUDIT_SECONDS: '3600' })

  forEachCluster((cluster) => {
    describe('binding as a role without privileges', () => {
      const db = freshDatabase()
      let target: Awaited<ReturnType<typeof createMaskedDatabase>>
      const run = (sql: string) => target.database.sql.unsafe(sql)
      const binding = () => bindingOf(target.url, { user: target.role('binder'), password: 'secret' })
      const bind = (to = db) => masking.send('PUT', to, { properties: { binding: binding() } })
      before(async () => {
        target = await createMaskedDatabase(cluster)
        await target.createRole('binder')
        const owner = await target.createRole('owner', 'NOLOGIN')
        const analyst = await target.createRole('analyst')
        await run(`create schema app; create table app.person (id int, email text); insert into app.person values (1, 'raw');
        create table public.other (id int, email text); grant select on public.other to "${analyst}";
        alter table app.person owner to "${owner}"; grant usage on schema app to "${analyst}"; grant select on app.person to "${analyst}"`)
      })
      after(() => target[Symbol.asyncDispose]())

      clause(
        'ENF-108',
        'A binding to a database in which masks could not hold is 400 `UnfitBinding` and nothing is…',
        async () => {
          const refused = await bind()
          assert.equal(refused.status, 400)
          assert.equal(refused.body.error.code, 'UnfitBinding')
          const details: Detail[] = refused.body.error.details
          assert.deepEqual(details.map(({ code }) => code).sort(), [
            'NoCreate',
            'NoTwinOwner',
            'NotOwner',
            'NotOwner',
          ])
          const shown = await masking.send('GET', db)
          assert.equal(shown.status, 404, 'nothing is stored')

          for (const { message } of details.filter((detail) => !detail.message.includes('public.other')))
            await run(statementsIn(message))
          const bound = await bind()
          assert.equal(bound.status, 201, bound.text)
          const warnings: Detail[] = bound.body.properties.preflight.warnings
          assert.deepEqual(
            warnings.map(({ code }) => code),
            ['NotOwner', 'CannotEndSessions'],
          )
        },
      )

      clause(
        'ENF-110',
        'Where masks fail for lack of a privilege, the state is `Failed` and its reason has the…',
        async () => {
          const rule = {
            schemaName: 'app',
            tableName: 'person',
            columnName: 'email',
            maskingFunction: 'Default',
          }
          const { status, headers } = await masking.putRule(db, 'mail', rule)
          assert.equal(status, 201)
          assert.equal(headers.get('x-masquerade-enforcement'), 'Failed')
          const { body } = await masking.send('GET', `${policyUrl(db)}/enforcement`)
          assert.match(body.reason, /into the schema "app"/)
          await run(statementsIn(body.reason))
          const again = await masking.putRule(db, 'mail', rule)
          assert.equal(again.headers.get('x-masquerade-enforcement'), 'Enforced', again.text)
          const [row] = await target.connectAs('analyst').sql`select email from masked_app.person`
          assert.equal(row?.email, 'XXXX')
        },
      )

      test('a table of somebody else is reported as not masked', async () => {
        const rule = {
          schemaName: 'public',
          tableName: 'other',
          columnName: 'email',
          maskingFunction: 'Default',
        }
        await masking.putRule(db, 'other', rule)
        const { body } = await masking.send('GET', `${policyUrl(db)}/enforcement`)
        const found = body.notes.find(({ code }: Detail) => code === 'NotMasked')
        assert.equal(found.target, 'public.other')
        assert.match(found.message, /Run: ALTER TABLE "public"."other" OWNER TO /)
        const refused = await bind(db)
        assert.equal(refused.status, 400, 'a new binding has to be able to mask what rules name')
        assert.match(refused.text, /public\.other/)
      })
    })
  })
})
