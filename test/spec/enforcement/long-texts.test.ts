import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { clause } from '../../support/clause.ts'
import { bindingOf, createMaskedDatabase } from '../../support/masked-database.ts'
import { freshDatabase, policyUrl, useMasking } from '../../support/masking.ts'

/** More than a text of JSON may have in PostgreSQL. */
const longer = 270_000_000
const long = 2_000_000

describe('long texts in the catalog of a masked database', () => {
  const masking = useMasking({ MASQUERADE_AUDIT_SECONDS: '3600' })
  const db = freshDatabase()
  let target: Awaited<ReturnType<typeof createMaskedDatabase>>
  before(async () => {
    target = await createMaskedDatabase()
    const builder = await target.createRole('builder')
    const name = target.url.replace(/^.*\//, '')
    await target.database.sql.unsafe(`
      grant create on database "${name}" to "${builder}"; grant create, usage on schema public to "${builder}";
      set role "${builder}"; create domain public.code as text; reset role;
      create table public.person (id int primary key, email text, phone text, code public.code);
      insert into public.person values (1, 'ann@example.com', '555', 'x');
      grant select on public.person to "${builder}"`)
  })
  after(() => target?.[Symbol.asyncDispose]())

  const run = (statement: string) => target.runAs('builder', statement)
  /** Runs a statement in which $long is a literal of that length. */
  const write = (statement: string, length: number) =>
    run(`set statement_timeout = 0; do $do$ begin
      set local check_function_bodies = off;
      execute replace($$${statement}$$, '$long', '''' || repeat('x', ${length}) || '''');
    end $do$`)
  const mask = async (columnName: string) => {
    const where = { schemaName: 'public', tableName: 'person', columnName }
    const put = await masking.putRule(db, columnName, { ...where, maskingFunction: 'Default' })
    assert.equal(put.status, 201, put.text)
    const { body } = await masking.send('GET', `${policyUrl(db)}/enforcement`)
    assert.deepEqual([body.state, body.reason], ['Enforced', null], columnName)
    await assert.rejects(run(`select ${columnName} from public.person`), /permission denied/)
  }

  clause(
    'ENF-213',
    'Texts that roles write into the catalog are read up to a length, and up to a total where…',
    async () => {
      await run('create schema masquerade_guard')
      await write('comment on schema masquerade_guard is $long', longer)
      const bound = await masking.send('PUT', db, { properties: { binding: bindingOf(target.url) } })
      assert.equal(bound.status, 201, bound.text)
      await run('create view public.mine as select id, email from public.person')
      await mask('email')

      await write('comment on column public.mine.id is $long', long)
      await mask('phone')

      await write('alter domain public.code add check (value <> $long)', long)
      await mask('code')

      await write('create function public.long() returns text language sql as $long', long)
      const { status, text } = await masking.send('GET', `${policyUrl(db)}/exposures`)
      assert.equal(status, 200, text)
    },
  )
})
