import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Relation, Snapshot } from '../../../src/masks/model.ts'
import { followViews } from '../../../src/masks/plan/follow-views.ts'

const viewOf = (oid: number, reads: readonly number[], isSecurityInvoker: boolean) =>
  ({
    ...{ oid, reads, kind: 'view', isSecurityInvoker, owner: 7, ownerRoles: [7], ownerReadsAll: false },
    columns: [{ number: 1 }],
  }) as unknown as Relation

test('views that read each other by very many ways are followed once each', () => {
  const table = { ...viewOf(1, [], false), kind: 'table', owner: 5, ownerRoles: [5] } as Relation
  const pairs = Array.from({ length: 60 }, (_, at) => 2 * at + 2)
  const views = pairs.flatMap((oid) => {
    const reads = oid === 2 ? [1] : [oid - 2, oid - 1]
    return [viewOf(oid, reads, true), viewOf(oid + 1, reads, true)]
  })
  const [own, trusted] = [viewOf(200, [120, 121], false), viewOf(201, [120, 121], false)]
  const all = [table, ...views, own, { ...trusted, ownerRoles: [5] }]
  const relations = new Map(all.map((one) => [one.oid, one]))
  const scene = { relations, exempt: { roles: new Set() }, server: { binding: { oid: 9 } } }
  const shown = followViews(scene as unknown as Snapshot, new Map([[1, new Map([[1, {}]])]]) as never)
  assert.equal(shown.get(121)?.by, 'definition')
  assert.equal(shown.get(201)?.by, 'definition', 'its owner reads what is hidden')
})
