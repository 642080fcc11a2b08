import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { pino } from 'pino'
import type { MaskMap } from '../../../../src/gateway/rewrite/mask-map.ts'
import { SettingsReport } from '../../../../src/gateway/session/ledger/settings-report.ts'
import { StatementTexts } from '../../../../src/gateway/session/statement-texts.ts'
import { exemptRole, maskedRole } from '../audit/touch-scene.ts'

describe('what a text means before the server has told its settings', () => {
  function isUncertain(
    text: string,
    { areSettingsKnown = true, hearsPath = true, masks = exemptRole as MaskMap },
  ) {
    const texts = new StatementTexts({
      masks: () => masks,
      role: 'ann',
      database: 'shop',
      parameters: new Map([['search_path', 'sales, public']]),
      hearsPath,
      log: pino({ level: 'silent' }),
    })
    const bytes = Buffer.from(text)
    texts.rewrite(bytes, 0, bytes.length, areSettingsKnown)
    return texts.effects.some(({ touch }) => touch?.isUnparsed)
  }
  const plain = [
    'select email from public.customers',
    'select pay from staff where sid = 1',
    'select body from notes',
  ]
  const homonym = 'select email from customers'
  const open = [homonym, String.raw`select '\x'`, "select 'é'", 'select 1 -- é', String.raw`select E'\\'`]

  test('plain texts and names that one relation has are certain', () => {
    for (const masks of [exemptRole, maskedRole])
      for (const text of plain) {
        assert.ok(!isUncertain(text, { masks, areSettingsKnown: false }), text)
        assert.ok(!isUncertain(text, { masks, hearsPath: false }), text)
      }
  })

  test('backslashes, other letters and names that several have are not, and are once it is settled', () => {
    for (const masks of [exemptRole, maskedRole])
      for (const text of open) {
        assert.ok(isUncertain(text, { masks, areSettingsKnown: false }), text)
        assert.ok(!isUncertain(text, { masks }), text)
      }
  })

  test('a server that does not report the path leaves such names uncertain, and nothing else', () => {
    assert.deepEqual(
      open.filter((text) => isUncertain(text, { hearsPath: false })),
      [homonym],
    )
  })

  test('it is settled when the server is ready and nothing runs that it will not be ready after', () => {
    const settings = new SettingsReport()
    const steps: [() => void, boolean][] = [
      [() => settings.run(), false],
      [() => settings.ready(), false],
      [() => settings.end(), false],
      [() => settings.ready(), true],
      [() => settings.end(), false],
      [() => settings.run(), false],
      [() => settings.ready(), false],
    ]
    for (const [step, is] of steps) {
      step()
      assert.equal(settings.isComplete, is)
    }
  })
})
