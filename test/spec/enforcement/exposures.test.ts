import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { exposureKinds } from '../../../src/enforcement/exposures/find-exposures.ts'
import { clause } from '../../support/clause.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { allCases, usePlays } from './play-exposures.ts'

forEachCluster((cluster) => {
  const playAll = usePlays(cluster)

  clause(
    'ENF-102',
    'A role that sees raw values regardless of the policy is listed as an exposure: superusers…',
    playAll('ENF-102'),
  )

  clause(
    'ENF-103',
    'Objects that carry raw values past the masks are listed: SECURITY DEFINER functions, triggers, rules, columns tied by foreign keys, possible copies, also those that a masked role owns, foreign servers, publications, old views of statistics; row policies that compare a masked column with a setting; and privileges that lead to values: TRIGGER, REFERENCES, writing under unique indexes, exclusion and check constraints and foreign keys, default privileges.',
    playAll('ENF-103'),
  )

  clause(
    'ENF-417',
    'A masked role that may refresh a masked materialized view with a unique index (PostgreSQL 17: MAINTAIN, or a member of pg_maintain) is…',
    playAll('ENF-417'),
  )

  clause(
    'ENF-418',
    'A sequence that gives a masked column its values is listed as low (`SequenceValues`) with the masked roles that…',
    playAll('ENF-418'),
  )

  clause(
    'ENF-469',
    'A masked column that was added with a default is listed as low (`MissingValue`) while pg_attribute, which every role may read, has…',
    playAll('ENF-469'),
  )

  clause(
    'ENF-419',
    'A masked role that was granted SET on a setting that loads libraries, or ALTER SYSTEM on one that…',
    playAll('ENF-419'),
  )

  clause(
    'ENF-113',
    "A row policy that compares a masked column with a value of the reader's choice, a setting or a row of a table that…",
    playAll('ENF-113'),
  )

  clause(
    'ENF-437',
    'A rule of another relation that reads or writes a masked one is listed as medium (`RewriteRule`) where the owner of the relation…',
    playAll('ENF-437'),
  )

  clause(
    'ENF-224',
    'An expression that takes a row as a whole counts as naming every column; INSTEAD OF triggers and rules of views over…',
    playAll('ENF-224'),
  )

  clause(
    'ENF-228',
    'A member of pg_maintain, which may lock every table and every catalog, is listed as medium.',
    playAll('ENF-228'),
  )

  clause(
    'ENF-229',
    'A member of pg_write_all_data, which may write and lock every table, is listed as high.',
    playAll('ENF-229'),
  )

  clause(
    'ENF-271',
    'Expressions that PostgreSQL evaluates over a masked column together with another column of the row, which a masked role may update, are listed as medium…',
    playAll('ENF-271'),
  )

  clause(
    'ENF-272',
    'Where an exposure is about writing a masked table, rights to write a table that it is part of count too, and those on a view…',
    playAll('ENF-272'),
  )
})

describe('the classes', () => {
  test('each has a case', () => {
    const covered = new Set(allCases.map(({ code }) => code))
    // A table that cannot be masked takes a binding without privileges: preflight.test.ts has it. subscribed-tables.test.ts has subscriptions, server-exposures.test.ts a password. failing-rows.test.ts has more of FailingRow.
    const without = exposureKinds.map(({ code }) => code).filter((code) => !covered.has(code))
    assert.deepEqual([...new Set(without)], ['NotMasked', 'ReplicationPassword', 'SubscriptionCode'])
  })
})
