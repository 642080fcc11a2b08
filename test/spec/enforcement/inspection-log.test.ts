import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import pino from 'pino'
import { clause } from '../../support/clause.ts'
import { bindingOf, createMaskedDatabase } from '../../support/masked-database.ts'
import { apiVersion, freshDatabase, policyUrl } from '../../support/masking.ts'
import { startTestService } from '../../support/service.ts'
import { waitUntil } from '../../support/wait-until.ts'

describe('what is logged of a database that is looked into', () => {
  test('no value of anybody, also when something fails there', async () => {
    const lines: string[] = []
    const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) })
    await using target = await createMaskedDatabase()
    await target.database.sql.unsafe(`
      create table public.person (id int, email text);
      insert into public.person select i, 'zelda' || i || '@secret-mail.com' from generate_series(1, 30) i;
      create function public.shout(text) returns text language plpgsql immutable as $$ begin raise exception 'no %', $1; end $$;
      create table public.loud (id int, email text);
      insert into public.loud values (1, 'zelda@secret-mail.com');
      alter table public.loud enable row level security; alter table public.loud force row level security;
      create policy noisy on public.loud using (public.shout(email) is not null)`)
    await using service = await startTestService({ MASQUERADE_AUDIT_SECONDS: '3600' }, log)
    const token = service.tokenFor({ role: 'Owner' })
    const db = freshDatabase()
    const send = (method: string, path: string, body?: object) =>
      service.request(method, `${path}?${apiVersion}`, { token, ...(body && { body }) })
    await send('PUT', db, { properties: { binding: bindingOf(target.url) } })
    const answers = [
      await send('GET', `${policyUrl(db)}/recommendations`),
      await send('GET', `${policyUrl(db)}/exposures`),
      await send('POST', `${policyUrl(db)}/preview`, {
        schemaName: 'public',
        tableName: 'person',
        rule: { columnName: 'email', maskingFunction: 'Email' },
      }),
      await send('POST', `${policyUrl(db)}/preview`, {
        schemaName: 'public',
        tableName: 'loud',
        rule: { columnName: 'email', maskingFunction: 'Email' },
      }),
    ]
    assert.deepEqual(
      answers.slice(0, 3).map(({ status }) => status),
      [200, 200, 200],
    )
    assert.equal(answers[2]?.body.rows[0].values[1], 'zXXX@XXXX.com')
    assert.ok(lines.length > 0)
    for (const text of [...lines, ...answers.map((answer) => answer.text)])
      assert.ok(!text.includes('zelda'), text)
  })

  clause(
    'ENF-156',
    'Of the requests that look into a bound database, the dry run of a state included, two run at a time on…',
    async () => {
      await using target = await createMaskedDatabase()
      await target.database.sql.unsafe('create table public.person (id int, email text)')
      await using service = await startTestService({ MASQUERADE_AUDIT_SECONDS: '3600' })
      const token = service.tokenFor({ role: 'Owner' })
      const db = freshDatabase()
      await service.request('PUT', `${db}?${apiVersion}`, {
        token,
        body: { properties: { binding: bindingOf(target.url) } },
      })
      let hasRefused = false
      const ask = async () => {
        const answer = await service.request('GET', `${policyUrl(db)}/recommendations?${apiVersion}`, {
          token,
        })
        hasRefused ||= answer.status === 429
        return answer
      }
      const sent = await target.database.transaction(async (tx) => {
        // Each look waits for the lock, so that the requests meet each other.
        await tx`lock table public.person in access exclusive mode`
        const asked = Array.from({ length: 60 }, ask)
        await waitUntil('one is refused', () => hasRefused)
        return { asked }
      })
      const answers = await Promise.all(sent.asked)
      const seen = answers.filter(({ status }) => status === 200)
      const refused = answers.filter(({ status }) => status === 429)
      assert.equal(seen.length + refused.length, 60)
      assert.ok(seen.length >= 22 && refused.length > 0, `${seen.length} seen, ${refused.length} refused`)
      assert.equal(refused[0]?.headers.get('retry-after'), '1')
    },
  )
})
