import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import pg from 'pg'
import { openDatabase } from '../../../src/db/database.ts'
import { writeMark } from '../../../src/logins/mark.ts'
import { noLogins } from '../../../src/masks/control/login-port.ts'
import { clause } from '../../support/clause.ts'
import { createTestLogins, testKeys } from '../../support/logins.ts'
import { createMaskedDatabase } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { waitUntil } from '../../support/wait-until.ts'

/** Two nodes that change one login role at one moment. */
forEachCluster((cluster) => {
  describe('marks of login roles that lose something more', () => {
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    let directory: ReturnType<typeof createTestLogins>
    const run = async (text: string) => await target.database.sql.unsafe(text)

    before(async () => {
      target = await createMaskedDatabase(cluster)
      directory = createTestLogins(target.database)
    })
    after(async () => {
      directory.clear()
      await directory.settle()
      await target[Symbol.asyncDispose]()
    })

    clause(
      'GATE-333',
      'The mark of a login role whose sessions are to end is removed only where the role has lost nothing since…',
      async () => {
        const clerks = await target.createRole('clerks', 'NOLOGIN')
        const doctors = await target.createRole('doctors', 'NOLOGIN')
        const ana = directory.add('ana@contoso.com', [clerks, doctors])
        const outcome = await directory.prepare(ana)
        if (outcome.kind !== 'ready') assert.fail(JSON.stringify(outcome))
        const { role, oid, password } = outcome.login
        const { databaseId } = directory
        const mark = (ending: boolean, left?: string) =>
          `comment on role "${role}" is '${writeMark({ databaseId, principalId: ana, ending, left }, oid, testKeys.sign)}'`
        const isEnding = async () => {
          const [row] = await run(`select shobj_description(${oid}, 'pg_authid') as comment`)
          return String(row?.comment).endsWith(' ending')
        }
        const waiting = `select from pg_locks where not granted and classid = 'pg_authid'::regclass and objid = ${oid}`

        // A node ends sessions after one loss, while another one is about to commit the next.
        await run(mark(true))
        const other = new pg.Client({ connectionString: target.url })
        await other.connect()
        await other.query(`begin; revoke "${doctors}" from "${role}"`)
        await other.query(mark(true))
        let isSettled = false
        const settling = directory.settle().finally(() => {
          isSettled = true
        })
        await waitUntil('the sessions were ended', async () => isSettled || (await run(waiting)).length > 0)
        const url = new URL(target.url)
        url.username = encodeURIComponent(role)
        url.password = encodeURIComponent(password)
        const session = openDatabase({ url: url.href, poolSize: 1 })
        await session.sql.unsafe(`set role "${doctors}"`)
        await other.query('commit')
        await other.end()
        await settling
        assert.ok(await isEnding(), 'the mark of the second loss')
        directory.set(ana, { roles: [clerks] })
        assert.equal((await directory.settle()).ended, 1)
        assert.ok(!(await isEnding()))
        await session.close()

        // A node has seen sessions end at every server, and another one takes something since it has read the mark.
        await run(`grant "${doctors}" to "${role}"`)
        directory.set(ana, { roles: [clerks, doctors] })
        await run(mark(false, '0/1'))
        const node = directory.createNode(async () => {
          await run(`begin; revoke "${doctors}" from "${role}"; ${mark(true)}; commit`)
        })
        await node.finish(target.database, databaseId, { ...noLogins, left: [{ oid, left: '0/1' }] }, [])
        assert.ok(await isEnding(), 'the mark of a loss after the look')
      },
    )

    clause(
      'GATE-341',
      'A mark that is written anew because another key of the service signed it, or because its database is not bound any more…',
      async () => {
        const clerks = await target.createRole('bakers', 'NOLOGIN')
        const doctors = await target.createRole('cooks', 'NOLOGIN')
        for (const moment of ['has been committed', 'is about to be committed']) {
          const ana = directory.add(`${moment.length}@contoso.com`, [clerks, doctors])
          const outcome = await directory.prepare(ana)
          if (outcome.kind !== 'ready') assert.fail(JSON.stringify(outcome))
          const { role, oid, password } = outcome.login
          const { databaseId } = directory
          const url = new URL(target.url)
          url.username = encodeURIComponent(role)
          url.password = encodeURIComponent(password)
          const session = openDatabase({ url: url.href, poolSize: 1 })
          await session.sql.unsafe(`set role "${doctors}"`)

          // A node replaces the signature, and has read the mark when another one takes a role away.
          const other = new pg.Client({ connectionString: target.url })
          await other.connect()
          let looks = 0
          const lose = async () => {
            if (++looks !== 1) return
            const loss = writeMark({ databaseId, principalId: ana, ending: true }, oid, testKeys.sign)
            await other.query(
              `begin; revoke "${doctors}" from "${role}"; comment on role "${role}" is '${loss}'`,
            )
            if (moment === 'has been committed') await other.query('commit')
          }
          const sign = (text: string) => testKeys.sign(`anew ${text}`)
          const signOtherwise = (text: string) => ({ older: [testKeys.sign(text)], newer: [] })
          const node = directory.createNode(lose, { ...testKeys, sign, signOtherwise })
          const settle = () => node.settle(target.database, databaseId)
          const settling = settle()
          const waiting = `select from pg_locks where not granted and classid = 'pg_authid'::regclass and objid = ${oid}`
          if (moment !== 'has been committed') {
            await waitUntil('the mark is waited for', async () => (await run(waiting)).length > 0)
            await other.query('commit')
          }
          const first = await settling
          directory.set(ana, { roles: [clerks] })
          assert.equal(first.ended + (await settle()).ended, 1, moment)
          await session.close()
          await other.end()
          directory.remove(ana)
          await node.finish(target.database, databaseId, await node.settle(target.database, databaseId), [])
          assert.deepEqual(await run(`select from pg_roles where oid = ${oid}`), [])
        }
      },
    )
  })
})
