import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { it } from 'node:test'
import { appendChanges, readRevision } from '../../../src/db/change-log.ts'
import { createTestDatabase, forEachCluster } from '../../support/postgres.ts'

forEachCluster((cluster) => {
  it('numbers the changes of one transaction in order', async () => {
    await using test = await createTestDatabase(cluster)
    const tenantId = randomUUID()
    const changes = ['a', 'b', 'c'].map((entityId) => ({
      entity: 'group',
      entityId,
      kind: 'create',
      data: { n: entityId },
    }))
    const last = await test.database.transaction((tx) => appendChanges(tx, tenantId, changes))
    assert.equal(last, 3)
    const rows = await test.database.sql`select revision, entity_id, data from change_log order by revision`
    assert.deepEqual(
      [...rows],
      [
        { revision: 1, entity_id: 'a', data: { n: 'a' } },
        { revision: 2, entity_id: 'b', data: { n: 'b' } },
        { revision: 3, entity_id: 'c', data: { n: 'c' } },
      ],
    )
    assert.equal(await readRevision(test.database.sql, tenantId), 3)
    assert.equal(await readRevision(test.database.sql, randomUUID()), 0)
  })

  it('takes more changes than one statement has parameters for', async () => {
    await using test = await createTestDatabase(cluster)
    const changes = Array.from({ length: 12_000 }, (_, at) => ({
      entity: 'user',
      entityId: `${at}`,
      kind: 'create',
    }))
    assert.equal(await test.database.transaction((tx) => appendChanges(tx, randomUUID(), changes)), 12_000)
  })

  it('leaves no gap and keeps commit order under concurrency and rollbacks', async () => {
    await using test = await createTestDatabase(cluster)
    const { database } = test
    const tenantId = randomUUID()
    const change = { entity: 'group', entityId: 'g', kind: 'update' }
    let isDone = false
    const watch = (async () => {
      let seen = 0
      while (!isDone) {
        const rows = await database.sql`
          select revision from change_log where tenant_id = ${tenantId} and revision > ${seen} order by revision`
        for (const { revision } of rows)
          assert.equal(revision, ++seen, 'a revision appeared after a later one')
      }
    })()
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let turn = 0; turn < 25; turn++) {
        const abort = (writer + turn) % 5 === 0
        const write = database.transaction(async (tx) => {
          await appendChanges(
            tx,
            tenantId,
            Array.from({ length: 1 + (turn % 3) }, () => change),
          )
          if (abort) throw new Error('rolled back')
        })
        if (abort) await assert.rejects(write, /rolled back/)
        else await write
      }
    })
    await Promise.all(writers)
    isDone = true
    await watch
    const [log] =
      await database.sql`select count(*), max(revision) from change_log where tenant_id = ${tenantId}`
    assert.equal(log?.count, log?.max)
    assert.equal(log?.max, await readRevision(database.sql, tenantId))
    assert.ok(log?.max > 200)
  })
})
