import assert from 'node:assert/strict'
import type { Note } from '../../../src/contracts/note.ts'
import { judgeUnfinished, mergeNotes } from '../../../src/findings/turns/judge-turn.ts'
import type { TurnResult } from '../../../src/masks/turn.ts'
import { clause } from '../../support/clause.ts'

clause(
  'ENF-141',
  'Notes and reasons of a state are capped at 20 notes of a kind and 10 sentences, with a count of the rest.',
  async () => {
    const views = Array.from({ length: 10_000 }, (_, at) => `"flood"."v${at}"`)
    const unfinished = views.map((target, at) => ({
      target,
      oids: [at + 1],
      sqlstate: '55P03',
      reason: 'a lock',
      holders: [],
      isClosed: true,
    }))
    const rowSecurity: Note = { code: 'RowSecurity', target: 'app.people', message: 'It has row policies.' }
    const result = {
      unfinished,
      notes: [...views.map((target): Note => ({ code: 'NoTwin', target, message: 'None.' })), rowSecurity],
      snapshot: { isWhole: true, relations: new Map() },
      policy: { rules: [] },
      plan: { masked: [], shown: new Map() },
    } as unknown as TurnResult
    const { state, reason, notes } = judgeUnfinished(result, [])
    assert.equal(state, 'Pending')
    assert.match(reason, /^"flood"."v0" waits .* "flood"."v9" waits [^.]*\. .* 9990 more are not listed\.$/)
    assert.ok(!reason.includes('"v10"'))
    const told = mergeNotes(result, notes, [])
    const codes = Map.groupBy(told, ({ code }) => code)
    assert.equal(codes.get('NoTwin')?.length, 21)
    assert.equal(codes.get('Locked')?.length, 21)
    assert.equal(codes.get('NoTwin')?.at(-1)?.message, '9980 more notes of this kind are not listed.')
    assert.deepEqual(codes.get('RowSecurity'), [rowSecurity])
  },
)
