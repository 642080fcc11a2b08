import assert from 'node:assert/strict'
import { recommend } from '../../../src/findings/recommendations/recommend.ts'
import { describeTurn } from '../../../src/findings/turns/describe-turn.ts'
import { takeTurn } from '../../../src/masks/turn.ts'
import { clause } from '../../support/clause.ts'
import { createLabelled, labelledColumns, score } from '../../support/labelled/columns.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'

clause(
  'MASK-147',
  'Recommendations look at keys of JSON documents, elements of arrays and the words of longer texts too, and know names of people by their table. A column that no other function fits is recommended with `Default`. On the labelled schemas of the tests, at least 0.95 of the recommended columns are sensitive, and at least 0.9 of the sensitive columns are recommended.',
  async () => {
    await using target = await createMaskedDatabase()
    await createLabelled(target.database.sql, true)
    assert.ok(labelledColumns.length >= 300)
    const found = await recommend(target.database, [])
    const { precision, recall, falseAlarms, misses } = score(
      new Set(found.map(({ table, column }) => `${table}.${column}`)),
    )
    assert.ok(precision >= 0.95, `false alarms: ${falseAlarms.join(', ')}`)
    assert.ok(recall >= 0.9, `missed: ${misses.join(', ')}`)
    const of = (table: string, column: string) =>
      found.find((one) => one.table === table && one.column === column)?.suggestion.maskingFunction
    assert.equal(of('users', 'profile'), 'Default')
    assert.equal(of('tickets', 'cc_emails'), 'Default')
    assert.equal(of('tickets', 'body'), 'Default')
    assert.equal(of('orders', 'card_last4'), 'Default')
    assert.equal(of('customers', 'email'), 'Email')
    const text = JSON.stringify(found)
    for (const value of ['example.com', '4111', 'Miller', '10.1.', 'Parcel'])
      assert.ok(!text.includes(value), value)

    // All of them together are masks that the database takes, and that show no value.
    const rules = found.map(({ schema, table, column, suggestion }) =>
      rule(`${schema}.${table}.${column}`, suggestion.maskingFunction, suggestion),
    )
    assert.deepEqual(describeTurn(await takeTurn(target.database, policy(rules))), [])
    const [row] = await target.database.sql<{ text: string }[]>`
      select concat_ws(' ', (select string_agg(t::text, '') from masked_public.tickets t),
        (select string_agg(u::text, '') from masked_public.users u)) as text`
    assert.ok(row && !row.text.includes('@example.com'))
  },
)
