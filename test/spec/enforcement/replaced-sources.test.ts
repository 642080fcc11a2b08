import assert from 'node:assert/strict'
import { after, before, beforeEach, describe } from 'node:test'
import type { Policy } from '../../../src/masks/policy.ts'
import { takeTurn } from '../../../src/masks/turn.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'

/** Views and row policies that use other functions than when their twins were made, by the same text. */
forEachCluster((cluster) => {
  describe('replaced sources', () => {
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    let [owner, reader] = ['', '']
    const rules = policy([rule('hr.client.mail')])
    const run = (text: string) => target.database.sql.unsafe(text)
    const asOwner = (text: string) => run(`set role "${owner}"; ${text}; reset role`)
    const look = (text: string) =>
      target.runAs('reader', text).then(
        (rows) => JSON.stringify(rows),
        (error: Error) => error.message,
      )
    /** The reason, if something is left to do. */
    const enforce = (wanted: Policy | (() => Promise<Policy>) = rules) =>
      takeTurn(target.database, wanted).then(({ unfinished, notes }) => {
        const closed = notes.flatMap(({ code, message }) => (code === 'NoTwin' ? [message] : []))
        return [...unfinished.map(({ target: name, reason }) => `${name}: ${reason}`), ...closed].join('; ')
      })
    const countSteps = async () => (await takeTurn(target.database, rules, { dryRun: true })).steps.length

    before(async () => {
      target = await createMaskedDatabase(cluster)
      owner = await target.createRole('owner', 'NOLOGIN')
      reader = await target.createRole('reader')
    })
    after(() => target[Symbol.asyncDispose]())
    beforeEach(async () => {
      await takeTurn(target.database, policy([]))
      await run('drop schema if exists app, hr cascade')
      await run(
        `create schema hr authorization "${owner}"; create schema app authorization "${owner}"; grant usage on schema hr, app to public`,
      )
      await asOwner(`create table hr.client (id int, mail text, word varchar(20)); insert into hr.client values (1, 'a@b.c', 'one');
        create table hr.other (id int, mail text); grant select on hr.client, hr.other to "${reader}"`)
    })

    /** Says its own name. */
    const define = (signature: string, result = 'text', value = `'${signature}'`) =>
      asOwner(
        `create function app.${signature} returns ${result} language sql immutable as $$ select ${value} $$`,
      )
    const shown = 'select c.id, c.mail, app.show(c.word) as shown from hr.client c'
    const createView = (text = shown) =>
      asOwner(`create or replace view hr.both as ${text}; grant select on hr.both to "${reader}"`)
    const readView = () => look('select shown from masked_hr."both"')

    const remade =
      'A turn that looks at the whole database makes a twin again whose view uses other functions, operators…'

    clause('ENF-360', remade, async () => {
      await define('show(v anyelement)')
      await createView()
      assert.equal(await enforce(), '')
      assert.equal(await readView(), '[{"shown":"show(v anyelement)"}]')
      await define('show(v varchar)')
      await createView()
      assert.equal(await enforce(), '')
      assert.equal(await readView(), '[{"shown":"show(v varchar)"}]')
      assert.equal(await countSteps(), 0)
      // Replaced by what it is, it shows the same.
      await asOwner(`create or replace view hr.both as ${shown}`)
      assert.equal(await enforce(), '')
      assert.equal(await readView(), '[{"shown":"show(v varchar)"}]')
      assert.equal(await countSteps(), 0)
    })

    clause('ENF-360', remade, async () => {
      const compare = 'select c.id, c.mail, c.mail operator(app.===) c.mail as shown from hr.client c'
      await define('same(a anyelement, b anyelement)', 'boolean', 'true')
      await asOwner(
        'create operator app.=== (leftarg = anyelement, rightarg = anyelement, function = app.same)',
      )
      await createView(compare)
      assert.equal(await enforce(), '')
      assert.equal(await readView(), '[{"shown":true}]')
      await define('differ(a text, b text)', 'boolean', 'false')
      await asOwner('create operator app.=== (leftarg = text, rightarg = text, function = app.differ)')
      await createView(compare)
      assert.equal(await enforce(), '')
      assert.equal(await readView(), '[{"shown":false}]')
    })

    clause('ENF-360', remade, async () => {
      await define('show(v anyelement)')
      await createView()
      assert.equal(await enforce(), '')
      await asOwner('alter function app.show(anyelement) rename to former')
      await define('show(v anyelement)')
      await createView()
      // It fits the column better than what the view calls by now.
      await define('show(v varchar)')
      assert.match(await enforce(), /^hr.both .*has no masked twin: .*would use other objects/)
      assert.match(await readView(), /permission denied|does not exist/)
      await asOwner('drop function app.show(varchar)')
      await run(`update masquerade_guard.relation set updated_at = now() - interval '11 minutes'`)
      assert.equal(await enforce(), '')
      assert.equal(await readView(), '[{"shown":"show(v anyelement)"}]')
    })
  })
})
