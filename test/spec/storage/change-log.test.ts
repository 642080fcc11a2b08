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
    await test.database.transaction((tx) => appendChanges(tx, tenantId, changes))
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
    const tenantId = randomUUID()
    await test.database.transaction((tx) => appendChanges(tx, tenantId, changes))
    assert.equal(await readRevision(test.database.sql, tenantId), 12_000)
    const [log] = await test.database.sql`
      select count(*) from change_log where tenant_id = ${tenantId} and entity_id = (revision - 1)::text`
    assert.equal(log?.count, 12_000)
  })

  it('numbers what several calls of one transaction log, and nothing of a part that was undone', async () => {
    await using test = await createTestDatabase(cluster)
    const tenants = [randomUUID(), randomUUID()]
    await test.database.transaction(async (tx) => {
      const append = (tenant: number, entityId: string) =>
        appendChanges(tx, tenants[tenant] ?? '', [{ entity: 'group', entityId, kind: 'update' }])
      await append(0, 'a')
      await append(1, 'b')
      await assert.rejects(
        tx.savepoint(async () => {
          await append(0, 'undone')
          throw new Error('undone')
        }),
        /undone/,
      )
      await append(0, 'c')
      await append(0, 'd')
      await appendChanges(tx, tenants[0] ?? '', [])
    })
    const rows = await test.database.sql<{ revision: number; entity_id: string }[]>`
      select revision, entity_id from change_log where tenant_id = any(${tenants}::uuid[])
      order by tenant_id = ${tenants[1] ?? ''}, revision`
    assert.deepEqual(
      rows.map(({ revision, entity_id }) => `${revision} ${entity_id}`),
      ['1 a', '2 c', '3 d', '1 b'],
    )
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
