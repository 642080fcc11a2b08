import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readMaskedFor } from '../../../src/findings/per-role/read-masked.ts'
import { takeTurn } from '../../../src/masks/turn.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'

forEachCluster((cluster) => {
  clause(
    'ENF-140',
    'A role that creates, ahead of the controller, the schema of its records stops nothing: another name…',
    async () => {
      await using target = await createMaskedDatabase(cluster)
      const { database } = target
      const mallory = await target.createRole('mallory')
      await database.sql.unsafe(`create schema masquerade_guard authorization "${mallory}";
        create table public.person (id int, mail text); grant select on public.person to "${mallory}"`)
      const claimant = { databaseId: randomUUID(), nameOwner: async () => null }
      const wanted = policy([rule('public.person.mail')])
      await takeTurn(database, wanted, { claimant })
      // Other readers of the records find them.
      assert.equal((await readMaskedFor(database.sql, [mallory])).get(mallory)?.relations.length, 1)
      await takeTurn(database, policy([]), { claimant })
      // It may have our records, given to another role.
      const again = takeTurn(database, wanted, { claimant, isMasked: async () => true })
      await assert.rejects(again, /masquerade_guard is not the binding role's/)
    },
  )

  clause(
    'ENF-290',
    'An entry exempts in a turn only the role that had its name when the service judged the entry: a role…',
    async () => {
      await using target = await createMaskedDatabase(cluster)
      const auditor = await target.createRole('auditor')
      const [row] = await target.database.sql.unsafe<{ oid: number }[]>(`
        create table public.person (id int, mail text); insert into public.person values (1, 'raw');
        grant usage on schema public to public; grant select on public.person to "${auditor}";
        select oid::int8 as oid from pg_roles where rolname = '${auditor}'`)
      const wanted = policy([rule('public.person.mail')], [auditor])
      for (const judged of [null, 5]) {
        await takeTurn(target.database, { ...wanted, judgedRoles: new Map([[auditor, judged]]) })
        await assert.rejects(target.runAs('auditor', 'select mail from public.person'), /permission denied/)
      }
      await takeTurn(target.database, { ...wanted, judgedRoles: new Map([[auditor, row?.oid ?? 0]]) })
      assert.deepEqual(await target.runAs('auditor', 'select mail from public.person'), [{ mail: 'raw' }])
    },
  )
})
