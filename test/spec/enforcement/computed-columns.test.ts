import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { findExposures } from '../../../src/enforcement/exposures/find-exposures.ts'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
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
      'ENF-270',
      'A mask that a generated column has because of what it is computed from (ENF-31) counts for the same column of every parent, partition and child, at any depth and however these compute it, and for views over them.',
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
            assert.deepEqual((await reconcile(target.database, policy(rules))).notes, [])
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
            assert.deepEqual((await reconcile(target.database, policy(rules))).steps, [])
            await reconcile(target.database, policy([]))
            assert.deepEqual(await listPrivileges(target.database, [analyst]), privileges)
          }
          const own = [rule('app.parent.secret'), rule('app.parent.g', 'Text', { prefixSize: '1' })]
          await reconcile(target.database, policy(own))
          assert.deepEqual(
            (await sql.unsafe('select g from masked_app.leaf')).map(({ g }) => g),
            ['zXXXX'],
          )
          await reconcile(target.database, policy([]))
          await run('drop schema app cascade')
        }
      },
    )
  })

  describe('expressions of masked tables', () => {
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    let [analyst, auditor, steward]: string[] = []
    before(async () => {
      target = await createMaskedDatabase(cluster)
      analyst = await target.createRole('analyst')
      auditor = await target.createRole('auditor')
      steward = await target.createRole('steward')
    })
    after(() => target[Symbol.asyncDispose]())
    const run = (sql: string) => target.database.sql.unsafe(sql)
    const list = async (name: string) => {
      const found = await findExposures(
        target.database,
        policy([rule(`app.${name}.mail`)], [String(auditor)]),
      )
      return found
        .filter(({ code }) => /^(Expression|Check|Unique)Oracle$/.test(code))
        .map(({ code, objects, roles }) => [
          code,
          objects.map(({ name }) => name.replaceAll('"', '')).join(' '),
          roles.join(' '),
        ])
    }

    test('of one column alone, and of roles that cannot update another, are none', async () => {
      await run(`create schema app; grant usage on schema app to public;
        create table app.calm (id int, mail text, note text, extra text,
          low text generated always as (lower(mail)) stored check (low <> ''), joined text generated always as (mail || note) stored);
        create index on app.calm (lower(mail), lower(note)); create index on app.calm (note) where mail > 'm';
        create statistics app.calm_made on (mail || note), id from app.calm;
        create view app.counts as select mail || note as note, count(*) from app.calm group by 1;
        create view app.extras as select extra from app.calm;
        create view app.invoked as select note from app.calm; alter view app.invoked owner to "${analyst}";
        grant insert, update (mail, extra), delete on app.calm to "${analyst}"; grant update on app.calm to "${auditor}";
        grant update on app.counts, app.extras, app.invoked to "${steward}"`)
      assert.deepEqual(await list('calm'), [])
    })

    test('of statistics are one for the owner of the database, who may run ANALYZE', async () => {
      await run(`create table app.counted (id int, mail text, note text);
        create statistics app.made on (mail || note), id from app.counted;
        grant update (note) on app.counted to "${analyst}", "${steward}";
        alter database "${target.url.replace(/^.*\//, '')}" owner to "${steward}"`)
      assert.deepEqual(await list('counted'), [['ExpressionOracle', 'app.counted app.made', String(steward)]])
      await run(`alter database "${target.url.replace(/^.*\//, '')}" owner to current_user`)
      assert.deepEqual(await list('counted'), [])
    })

    test('of a partition key are one where it reads the masked column beside another', async () => {
      await run(`create table app.lowered (id int, mail text, note text) partition by list (lower(note));
        create table app.mingled (id int, mail text, note text) partition by list ((mail || note));
        grant update (note) on app.lowered, app.mingled to "${analyst}"`)
      assert.deepEqual(await list('lowered'), [])
      assert.deepEqual(
        (await list('mingled')).map(([code, , roles]) => [code, roles]),
        [['ExpressionOracle', analyst]],
      )
    })

    test('that partitions have from their table are listed once for rights on the table', async () => {
      await run(`create table app.years (id int, mail text, note text) partition by list (id);
        create table app.year1 partition of app.years for values in (1); create table app.year2 partition of app.years for values in (2);
        create index years_made on app.years ((mail || note)); alter table app.years add check (mail <> note);
        grant update on app.years to "${analyst}"; grant update (note) on app.year2 to "${steward}"`)
      assert.deepEqual((await list('years')).sort(), [
        ['CheckOracle', 'app.year2 years_check', String(steward)],
        ['CheckOracle', 'app.years years_check', String(analyst)],
        ['ExpressionOracle', 'app.year2 app.year2_expr_idx', String(steward)],
        ['ExpressionOracle', 'app.years app.years_made', String(analyst)],
      ])
    })
  })
})
