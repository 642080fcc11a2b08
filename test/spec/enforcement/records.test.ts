import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { clause } from '../../support/clause.ts'
import { bindingOf, createMaskedDatabase } from '../../support/masked-database.ts'
import { freshDatabase, policyUrl, useMasking } from '../../support/masking.ts'
import { forEachCluster } from '../../support/postgres.ts'

const canary = 'zqcanary'
const masking = useMasking({ MASQUERADE_AUDIT_SECONDS: '3600' })

/** What the service itself remembers of a masked database: grants from before, and the roles that entries named. */
forEachCluster((cluster) => {
  for (const isSuperuser of [true, false])
    describe(`kept by the service, with ${isSuperuser ? "a superuser's binding" : 'a binding that owns the tables'}`, () => {
      const db = freshDatabase()
      let target: Awaited<ReturnType<typeof createMaskedDatabase>>
      let [analyst, auditor, owner, maker]: string[] = []
      const run = (text: string) => target.database.sql.unsafe(text)
      const readNotes = async (): Promise<{ code: string; target: string; message: string }[]> =>
        (await masking.send('GET', `${policyUrl(db)}/enforcement`)).body.notes
      const codes = async () => (await readNotes()).map(({ code }) => code)
      const put = async (column: string) => {
        const body = {
          schemaName: 'app',
          tableName: 'people',
          columnName: column,
          maskingFunction: 'Default',
        }
        const { headers, status, text } = await masking.putRule(db, column, body)
        assert.ok(status < 300, text)
        return headers.get('x-masquerade-enforcement')
      }
      const exempt = (exemptPrincipals = '') =>
        masking.send('PUT', policyUrl(db), { properties: { dataMaskingState: 'Enabled', exemptPrincipals } })
      const reads = async (name: string, text: string) =>
        (await target.runAs(name, text)).map((row) => Object.values(row)[0])
      const raw = 'select mail from app.people'
      const isDenied = (name: string) => assert.rejects(reads(name, raw), /permission denied/)

      before(async () => {
        target = await createMaskedDatabase(cluster)
        analyst = await target.createRole('analyst')
        auditor = await target.createRole('auditor')
        owner = await target.createRole('owner', 'LOGIN CREATEROLE')
        maker = await target.createRole('maker', 'LOGIN CREATEROLE')
        await run(`create schema app authorization "${owner}"; grant usage on schema app to public;
          create table app.people (id int, mail text, phone text); insert into app.people values (1, '${canary}', '555');
          alter table app.people owner to "${owner}"; grant select, trigger on app.people to "${analyst}";
          grant select on app.people to "${auditor}" with grant option; grant select (mail), references on app.people to "${maker}";
          grant create on database "${target.url.replace(/^.*\//, '')}" to "${owner}"`)
        await masking.send('PUT', db.replace(/\/databases\/.*/, ''), {})
        const binding = bindingOf(isSuperuser ? target.url : target.urlOf('owner'))
        const bound = await masking.send('PUT', db, { properties: { binding } })
        assert.equal(bound.status, 201, bound.text)
      })
      after(() => target[Symbol.asyncDispose]())

      clause(
        'ENF-194',
        'An entry of the exempt list exempts the role that it named when a turn first looked at it. A role…',
        async () => {
          const ghost = target.role('ghost')
          await exempt(`${auditor};${ghost}`)
          assert.equal(await put('mail'), 'Enforced')
          assert.ok((await codes()).includes('ExemptsNothing'))
          await target.runAs('maker', `create role "${ghost}" login password 'x'`)
          await run(`grant "${ghost}" to "${analyst}"; grant select on app.people to "${ghost}"`)
          assert.equal(await put('phone'), 'Enforced')
          await isDenied('analyst')
          const note = (await readNotes()).find(({ code }) => code === 'ExemptNameTaken')
          assert.equal(note?.target, ghost)
          assert.match(note.message, /It is not exempt/)
          assert.deepEqual(await reads('auditor', raw), [canary])
          await exempt(auditor)
          await exempt(`${auditor};${ghost}`)
          assert.deepEqual(await reads('analyst', raw), [canary])
          assert.ok(!(await codes()).includes('ExemptNameTaken'))
          await run(`drop owned by "${ghost}"; drop role "${ghost}"`)
          await exempt()
          for (const name of ['mail', 'phone']) await masking.send('DELETE', `${policyUrl(db)}/rules/${name}`)
        },
      )
    })
})
