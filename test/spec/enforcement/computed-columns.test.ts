import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { describeTurn } from '../../../src/findings/turns/describe-turn.ts'
import { takeTurn } from '../../../src/masks/turn.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { listPrivileges } from '../../support/privileges.ts'

const canary = 'zelda.canary'

forEachCluster((cluster) => {
  describe('generated columns of partitions and children', () => {
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    let analyst: string
    const isSince16 = Number(cluster.replace(/\D+/, '')) >= 16
    const kinds = Number(cluster.replace(/\D+/, '')) >= 18 ? ['stored', 'virtual'] : ['stored']
    before(async () => {
      target = await createMaskedDatabase(cluster)
      analyst = await target.createRole('analyst')
    })
    after(() => target[Symbol.asyncDispose]())

    /** Before 16 a part computes a column as its parent does, or one that the parent does not compute. */
    const build = (kind: string) => {
      const plain = isSince16 ? `text generated always as (id::text) ${kind}` : 'text'
      const made = (type: string) => `g ${type} generated always as (secret || '!') ${kind}`
      return `
        create schema app; grant usage on schema app to public;
        create table app.base (id int, g ${plain});
        create table app.parent (id int, secret text, other int, g ${plain}) inherits (app.base);
        alter table app.parent drop column other;
        create table app.child (local text, ${made('text')}) inherits (app.parent);
        create table app.leaf () inherits (app.child);
        create table app.beside (${made('text')}, secret text) inherits (app.base);
        create table app.split (id int, secret text, g ${plain}) partition by list (id);
        create table app.part (unused int, ${made('text')}, secret text, id int);
        alter table app.part drop column unused;
        alter table app.split attach partition app.part for values in (1);
        insert into app.child (id, secret) values (1, '${canary}');
        insert into app.leaf (id, secret) values (2, '${canary}');
        insert into app.beside (id, secret) values (3, '${canary}');
        insert into app.part (id, secret) values (1, '${canary}');
        create view app.shown as select id, g from app.parent; create view app.again as select g as h from app.shown;
        grant select on all tables in schema app to "${analyst}"`
    }

    clause(
      'ENF-31',
      'A generated column that is computed from a masked one, also in parents, partitions and…',
      async () => {
        const run = (sql: string) => target.database.sql.unsafe(sql)
        const { sql } = target.connectAs('analyst')
        for (const kind of kinds) {
          await run(build(kind))
          const privileges = await listPrivileges(target.database, [analyst])
          // One rule for the parent in the middle, one for a child whose parent lacks the masked column.
          for (const rules of [
            [rule('app.parent.secret'), rule('app.split.secret')],
            [rule('app.beside.secret'), rule('app.child.secret'), rule('app.part.secret')],
          ]) {
            assert.deepEqual(describeTurn(await takeTurn(target.database, policy(rules))), [])
            for (const table of ['base', 'parent', 'child', 'leaf', 'split', 'part', 'shown']) {
              await assert.rejects(sql.unsafe(`select g from app.${table}`), /permission denied/, table)
              const rows = await sql.unsafe(`select g from masked_app.${table}`)
              assert.ok(rows.length > 0 && rows.every(({ g }) => g === 'XXXX'), `${kind} ${table}`)
            }
            await assert.rejects(sql.unsafe('select h from app.again'), /permission denied/)
            assert.deepEqual(
              (await sql.unsafe('select h from masked_app.again')).map(({ h }) => h),
              ['XXXX', 'XXXX'],
            )
            assert.deepEqual((await takeTurn(target.database, policy(rules))).steps, [])
            await takeTurn(target.database, policy([]))
            assert.deepEqual(await listPrivileges(target.database, [analyst]), privileges)
          }
          const own = [rule('app.parent.secret'), rule('app.parent.g', 'Text', { prefixSize: '1' })]
          await takeTurn(target.database, policy(own))
          assert.deepEqual(
            (await sql.unsafe('select g from masked_app.leaf')).map(({ g }) => g),
            ['zXXXX'],
          )
          await takeTurn(target.database, policy([]))
          await run('drop schema app cascade')
        }
      },
    )
  })
})
