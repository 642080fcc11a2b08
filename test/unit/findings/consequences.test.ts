import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findConsequences } from '../../../src/findings/exposures/consequences.ts'
import { clause } from '../../support/clause.ts'

const remedies = [
  ['ALTER ROUTINE public.f() OWNER TO "boss"', true, true, true],
  ['ALTER TABLE "public"."t" DISABLE TRIGGER "copy"', true, true, true],
  ['REVOKE EXECUTE ON ROUTINE public.f() FROM "a", PUBLIC CASCADE', true, true, true],
  ['DROP PUBLICATION "all"', true, false, false],
  ['REVOKE EXECUTE ON ROUTINE public.f() FROM "ann" CASCADE', false, true, false],
] as const

clause(
  'ENF-128',
  'The remedy of an exposure says what else it affects and how it is undone, or that it cannot be…',
  () => {
    for (const [remedy, isDangerous, canBeUndone, hasAlternative] of remedies) {
      const found = findConsequences(remedy)
      assert.ok(found?.affects)
      const seen = [found.isDangerous, found.undo !== null, found.alternative !== null]
      assert.deepEqual(seen, [isDangerous, canBeUndone, hasAlternative], remedy)
    }
  },
)

test('an exposure without a remedy has no consequences', () => assert.equal(findConsequences(null), null))
