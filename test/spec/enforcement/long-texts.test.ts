import assert from 'node:assert/strict'
import { clause } from '../../support/clause.ts'
import { bindingOf, createMaskedDatabase } from '../../support/masked-database.ts'
import { freshDatabase, policyUrl, useMasking } from '../../support/masking.ts'

const masking = useMasking({ MASQUERADE_AUDIT_SECONDS: '3600' })

clause(
  'ENF-213',
  'Texts that roles write into the catalog are read up to a length, and up to a total where…',
  async () => {
    await using target = await createMaskedDatabase()
    const db = freshDatabase()
    const builder = await target.createRole('builder')
    const run = (statement: string) => target.runAs('builder', `set statement_timeout = 0; ${statement}`)
    const mask = async (columnName: string) => {
      const where = { schemaName: 'public', tableName: 'person', columnName }
      const put = await masking.putRule(db, columnName, { ...where, maskingFunction: 'Default' })
      assert.equal(put.headers.get('x-masquerade-enforcement'), 'Enforced', put.text)
      await assert.rejects(run(`select ${columnName} from public.person`), /permission denied/)
    }
    await target.database.sql.unsafe(`grant create, usage on schema public to "${builder}";
      set role "${builder}"; create domain public.code as text; reset role;
      create table public.person (id int primary key, email text, code public.code);
      grant select on public.person to "${builder}"`)
    const bound = await masking.send('PUT', db, { properties: { binding: bindingOf(target.url) } })
    assert.equal(bound.status, 201, bound.text)
    await run('create view public.mine as select id, email from public.person')
    await mask('email')
    await run(`do $do$ begin
      execute format('alter domain public.code add check (value <> %L)', repeat('x', 2000000)); end $do$`)
    await mask('code')

    await target.database.sql.unsafe(`
      create function public.shown() returns text language sql security definer as 'select email from public.person';
      create function public.padded() returns int language plpgsql security definer as
        $f$ begin return 1; end -- ${'x '.repeat(60_000)} $f$`)
    // More than is read, of a role that sees masks.
    await run(`set check_function_bodies = off; do $do$ begin for i in 1..200 loop
      execute format('create function public.f%s() returns int language plpgsql as %L', i, repeat('x ', 50000));
    end loop; execute format('create function public.long() returns text language sql as %L', repeat('x', 2000000));
    end $do$`)
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
