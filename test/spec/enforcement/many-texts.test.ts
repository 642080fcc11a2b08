import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { clause } from '../../support/clause.ts'
import { bindingOf, createMaskedDatabase } from '../../support/masked-database.ts'
import { freshDatabase, policyUrl, useMasking } from '../../support/masking.ts'

describe('many long texts in the catalog of a masked database', () => {
  const masking = useMasking({ MASQUERADE_AUDIT_SECONDS: '3600' })
  const db = freshDatabase()
  let target: Awaited<ReturnType<typeof createMaskedDatabase>>
  before(async () => {
    target = await createMaskedDatabase()
    const builder = await target.createRole('builder')
    await target.database.sql.unsafe(`
      grant create, usage on schema public to "${builder}";
      create table public.person (id int primary key, email text);
      grant select on public.person to "${builder}"`)
    await run('create view public.mine as select id, email from public.person')
    const bound = await masking.send('PUT', db, { properties: { binding: bindingOf(target.url) } })
    assert.equal(bound.status, 201, bound.text)
    const where = { schemaName: 'public', tableName: 'person', columnName: 'email' }
    const put = await masking.putRule(db, 'email', { ...where, maskingFunction: 'Default' })
    assert.equal(put.status, 201, put.text)
  })
  after(() => target?.[Symbol.asyncDispose]())

  const run = (statement: string) => target.runAs('builder', statement)

  clause(
    'ENF-213',
    'Texts that roles write into the catalog are read up to a length, and up to a total where…',
    async () => {
      await target.database.sql.unsafe(`
        create function public.shown() returns text language sql security definer as 'select email from public.person';
        create function public.padded() returns int language plpgsql security definer as
          $f$ begin return 1; end -- ${'x '.repeat(60_000)} $f$`)
      const begin = `set statement_timeout = 0; set check_function_bodies = off;`
      // More than is read, of a role that sees masks.
      await run(`${begin} do $do$ begin for i in 1..200 loop
        execute format('create function public.f%s() returns int language plpgsql as %L', i, repeat('x ', 50000));
      end loop; end $do$`)

      const { status, text, body } = await masking.send('GET', `${policyUrl(db)}/exposures`)
      assert.equal(status, 200, text.slice(0, 1000))
      const found = (body.value as { code: string; severity: string; objects: { name: string }[] }[])
        .filter(({ code }) => code === 'SecurityDefinerFunction')
        .map(({ severity, objects }) => [objects[0]?.name, severity])
      assert.deepEqual(found, [
        ['public.shown()', 'high'],
        ['public.padded()', 'medium'],
      ])
      const impact = await masking.send('POST', `${policyUrl(db)}/impact`, {})
      assert.equal(impact.status, 200, impact.text.slice(0, 1000))
    },
  )
})
