import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import { bindingOf, createMaskedDatabase } from './masked-database.ts'
import { freshDatabase, useMasking } from './masking.ts'

const schema = `
  create table public.person (id int primary key, email text, contact text, card text, pay numeric(8,2), note text);
  insert into public.person select i, 'zelda' || i || '@secret-mail.com', 'link' || i || '@other-mail.com',
    '4111111111111111', 4321.5 + i, 'note ' || i from generate_series(1, 30) i;
  create table public.split (id int, email text) partition by range (id);
  create table public.split_low partition of public.split for values from (0) to (100);
  insert into public.split values (1, 'zelda@secret-mail.com');
  create view public.people as select email from public.person;
  create table public.guarded (id int, email text);
  alter table public.guarded enable row level security; alter table public.guarded force row level security;
  grant usage on schema public to public; grant select on public.person to "$analyst"`

/** A service with a database bound to it that has people in it, and one rule: their e-mail addresses are masked. */
export function useBoundDatabase() {
  const masking = useMasking({ MASQUERADE_AUDIT_SECONDS: '3600' })
  const db = freshDatabase()
  let target: Awaited<ReturnType<typeof createMaskedDatabase>> | undefined
  before(async () => {
    target = await createMaskedDatabase()
    const analyst = await target.createRole('analyst')
    await target.database.sql.unsafe(schema.replace('$analyst', analyst))
    await masking.send('PUT', db, { properties: { binding: bindingOf(target.url) } })
    const { status, text } = await masking.putRule(db, 'mail', {
      schemaName: 'public',
      tableName: 'person',
      columnName: 'email',
      maskingFunction: 'Email',
    })
    assert.equal(status, 201, text)
  })
  after(() => target?.[Symbol.asyncDispose]())
  const bound = () => {
    if (!target) throw new Error('the database is not there yet')
    return target
  }
  return { masking, db, bound }
}
