import assert from 'node:assert/strict'
import { after, before, beforeEach, describe } from 'node:test'
import type { Policy } from '../../../src/enforcement/policy.ts'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { PartlyEnforced } from '../../../src/enforcement/reconcile-by-relation.ts'
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
      reconcile(target.database, wanted).then(
        () => '',
        (error: unknown) => {
          assert.ok(error instanceof PartlyEnforced, String(error))
          return error.message
        },
      )
    const countSteps = async () => (await reconcile(target.database, rules, { dryRun: true })).steps.length

    before(async () => {
      target = await createMaskedDatabase(cluster)
      owner = await target.createRole('owner', 'NOLOGIN')
      reader = await target.createRole('reader')
    })
    after(() => target[Symbol.asyncDispose]())
    beforeEach(async () => {
      await reconcile(target.database, policy([]))
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
      'A turn that looks at the whole database makes a twin again whose view or row policies use other functions, operators, casts or types than when it was made, also by the same text…'

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
      // Replaced by what it is, it is the same.
      await asOwner(`create or replace view hr.both as ${shown}`)
      assert.equal(await countSteps(), 0)
    })

    clause('ENF-360', remade, async () => {
      const restrict = `create policy p on hr.client as restrictive to "${reader}" using (app.visible(mail))`
      await define('visible(v anyelement)', 'boolean', 'true')
      await asOwner(
        `alter table hr.client enable row level security; create policy every on hr.client using (true); ${restrict}`,
      )
      assert.equal(await enforce(), '')
      assert.equal(await look('select id from masked_hr.client'), '[{"id":1}]')
      await define('visible(v text)', 'boolean', 'false')
      await asOwner(`drop policy p on hr.client; ${restrict}`)
      assert.equal(await enforce(), '')
      assert.equal(await look('select id from masked_hr.client'), '[]')
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

    clause('ENF-360', `${remade.slice(0, -1)}. Where the new twin would use others…`, async () => {
      await define('show(v anyelement)')
      await createView()
      assert.equal(await enforce(), '')
      await asOwner('alter function app.show(anyelement) rename to former')
      await define('show(v anyelement)')
      await createView()
      // It fits the column better than what the view calls by now.
      await define('show(v varchar)')
      assert.match(
        await enforce(),
        /"hr"."both": .* what the twin masked_hr."both" reads or calls \(it would use function app.show\(character varying\)\)/,
      )
      assert.match(await readView(), /permission denied/)
      await asOwner('drop function app.show(varchar)')
      assert.equal(await enforce(), '')
      assert.equal(await readView(), '[{"shown":"show(v anyelement)"}]')
    })

    clause(
      'ENF-361',
      'Where a twin would use others than its relation does (ENF-350), a turn that changes something else is tried once as a whole and then…',
      async () => {
        await define('show(v anyelement)')
        await createView()
        await define('show(v varchar)')
        let turns = 0
        const count = (wanted: Policy) => async () => {
          turns++
          return wanted
        }
        for (const wanted of [rules, policy([...rules.rules, rule('hr.other.mail')])]) {
          turns = 0
          assert.match(await enforce(count(wanted)), /"hr"."both": /)
          assert.equal(turns, 3)
        }
        assert.match(await look('select mail from hr.other'), /permission denied/)
        assert.equal(await look('select mail from masked_hr.other'), '[]')
      },
    )

    clause(
      'ENF-362',
      'Where a function or operator is there for a domain and for the type below it, the twin of a view that uses it with a masked column of the domain is not made…',
      async () => {
        await asOwner(
          'create domain app.code as text; create domain app.narrow as app.code; alter table hr.client add code app.narrow',
        )
        await define('show(v app.narrow)')
        await define('show(v text)')
        await createView('select c.id, app.show(c.code) as shown from hr.client c')
        assert.equal(
          await enforce(policy([rule('hr.client.code')])),
          '"hr"."both": the twin masked_hr."both" would use function app.show(text) where the view uses function app.show(app.narrow), as a masked column has the type below its domain: cast the column to that type in the view, or rename one of the two',
        )
        await createView('select c.id, app.show(c.code::text) as shown from hr.client c')
        assert.equal(await enforce(policy([rule('hr.client.code')])), '')
      },
    )

    clause(
      'ENF-363',
      'The order of what a twin uses is compared however much it uses, and operators that PostgreSQL prints without their schema may be missing…',
      async () => {
        await run('create extension citext schema app')
        await define('show(v anyelement)')
        const calls = Array.from({ length: 4000 }, () => 'app.show(c.word)').join(', ')
        await asOwner(`set local search_path = app; create view hr.both as select c.id, c.mail::citext is distinct from c.word::citext as other,
          (array[${calls}])[4000] as shown from hr.client c; grant select on hr.both to "${reader}"`)
        assert.equal(await enforce(), '')
        assert.equal(await readView(), '[{"shown":"show(v anyelement)"}]')
      },
    )

    clause(
      'ENF-364',
      'A twin whose owner gives it a rule of the same text that uses others is made again, and closed where it would use these…',
      async () => {
        await define('show(v anyelement)')
        // Of two relations: PostgreSQL prints a rule over one with other names of columns than the view.
        await createView(`${shown} left join hr.other o on o.id = c.id`)
        assert.equal(await enforce(), '')
        await define('show(v varchar)')
        const [twin] = await run(`select pg_get_viewdef('masked_hr."both"') as text`)
        await asOwner(
          `create or replace rule "_RETURN" as on select to masked_hr."both" do instead ${twin?.text}`,
        )
        assert.equal(await readView(), '[{"shown":"show(v varchar)"}]')
        assert.match(await enforce(), /"hr"."both": /)
        assert.match(await readView(), /permission denied/)
      },
    )
  })
})
