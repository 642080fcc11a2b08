import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { forDumpedClusters, listRestoreErrors } from '../../support/dump-programs.ts'
import { createMaskedDatabase } from '../../support/masked-database.ts'
import { connectTo, runProgram } from '../../support/programs.ts'
import { openRental, type Rental } from '../../support/rental/open.ts'
import { traces } from '../../support/rental/schema.ts'

forDumpedClusters((cluster, { pgDump, psql }) => {
  describe('a dump of the film rental', () => {
    let rental: Rental
    before(async () => {
      rental = await openRental(cluster)
      await rental.target.database.sql.unsafe(
        `grant select on all sequences in schema public to "${rental.clerk}"; grant select on all tables in schema oracle to "${rental.clerk}"`,
      )
    })
    after(() => rental?.[Symbol.asyncDispose]())

    test('restores to what a masked role sees', async () => {
      const dumped = await runProgram(
        pgDump,
        ['--no-owner', '--no-acl', '-N', 'oracle'],
        connectTo(rental.url),
      )
      assert.equal(dumped.code, 0, dumped.errors)
      assert.doesNotMatch(dumped.out, traces)
      await using copy = await createMaskedDatabase(cluster)
      const restored = await runProgram(psql, ['-Xq'], connectTo(copy.url), dumped.out)
      // Masks of addresses are the same for many, which a unique index does not take.
      assert.deepEqual(listRestoreErrors(restored.errors), [
        'ERROR:  could not create unique index "customer_email"',
      ])
      for (const [table, columns] of Object.entries(compared)) {
        const read = (schema: string) =>
          `select array_agg((${columns})::text order by id) as rows from (select * from ${schema}.${table}) t`
        const [masked] = await rental.target.database.sql.unsafe(read('oracle'))
        const [got] = await copy.database.sql.unsafe(read('public'))
        assert.ok(masked?.rows.length > 10)
        assert.deepEqual(got?.rows, masked?.rows, table)
      }
      const [counted] = await copy.database.sql`
      select (select count(*)::int from public.rental) as rentals, (select count(*)::int from public.payment_2025_02) as paid,
        (select count(*)::int from public.rental_counts where email = 'sXXX@XXXX.com') as counted,
        (select count(*)::int from public.customer_list where name like '%***') as listed`
      assert.deepEqual(counted, { rentals: 3000, paid: 938, counted: 277, listed: 300 })
    })
  })
})

/** Columns that are neither drawn nor computed from others when they are restored. */
const compared = {
  customer:
    'id, first_name, last_name, email, card, born, tags, preferences, external_id, address_id, created',
  address: 'id, street, phone',
  staff: 'id, email, ssn, picture, boss_id',
  payment: 'id, amount, card, paid',
}
