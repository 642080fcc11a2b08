import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { createExemptRoleStore, settleExempt } from '../../../src/enforcement/grants/settle-exempt.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase } from '../../support/masked-database.ts'
import { createTestDatabase, listClusters } from '../../support/postgres.ts'

type Target = Awaited<ReturnType<typeof createMaskedDatabase>>

for (const elsewhere of [...new Set(listClusters().slice(0, 2))])
  clause(
    'ENF-273',
    'A name that was taken so (ENF-198) stays refused when the database is made anew, moves to another server or the binding names another one, until the entry is removed and added.',
    async () => {
      await using store = await createTestDatabase()
      await using here = await createMaskedDatabase()
      await using there = await createMaskedDatabase(elsewhere)
      const id = randomUUID()
      await store.database.sql`
        insert into masked_database (id, tenant_id, key, subscription_id, resource_group, server_name, name, location)
        values (${id}, ${randomUUID()}, 'k', 's', 'g', 'v', 'd', 'local')`
      const known = createExemptRoleStore(store.database.sql, id)
      const ghost = here.role('ghost')
      const settle = async ({ database }: Target, exemptRoles = [ghost]) =>
        await settleExempt(database.sql, known, await known.read(), { exemptRoles }, true)
      const refused = { exemptRoles: [], takenNames: [ghost] }
      const run = ({ database }: Target, text: string) => database.sql.unsafe(text)
      const maker = await here.createRole('maker', 'LOGIN CREATEROLE')

      assert.deepEqual(await settle(here), { exemptRoles: [ghost], takenNames: [] })
      await here.connectAs('maker').sql.unsafe(`create role "${ghost}"`)
      assert.deepEqual(await settle(here), refused)
      await run(here, `alter role "${maker}" nocreaterole`)
      const isOther = elsewhere !== listClusters()[0]
      if (isOther) await run(there, `create role "${ghost}"`)
      assert.deepEqual(await settle(there), refused)
      assert.deepEqual(await settle(there, [ghost, 'another']), {
        exemptRoles: ['another'],
        takenNames: [ghost],
      })
      assert.deepEqual(await settle(there), refused)
      assert.deepEqual(await settle(here), refused)
      await settle(there, [])
      assert.deepEqual(await settle(there), { exemptRoles: [ghost], takenNames: [] })
      for (const one of isOther ? [here, there] : [here]) await run(one, `drop role "${ghost}"`)
    },
  )
