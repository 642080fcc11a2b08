import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { clause } from '../../support/clause.ts'
import { runCommand, startCommand } from '../../support/command.ts'
import { findRelease, unpackRelease } from '../../support/last-release.ts'
import { bindingOf, createMaskedDatabase } from '../../support/masked-database.ts'
import { apiVersion, freshDatabase, policyUrl, ruleUrl } from '../../support/masking.ts'
import { createEmptyDatabase } from '../../support/postgres.ts'
import { listPrivileges } from '../../support/privileges.ts'
import { waitUntil } from '../../support/wait-until.ts'

const canary = 'zqcanary'

const schema = `
  create schema app; grant usage on schema app to public;
  create table app.person (id int primary key, mail text, pay int); insert into app.person values (1, '${canary}', 5);
  create table app.parts (id int, mail text) partition by list (id); create table app.part partition of app.parts for values in (1);
  insert into app.parts values (1, '${canary}');
  create view app.mails as select mail from app.person; create materialized view app.kept as select mail from app.person;
  grant select on app.person, app.mails, app.kept, app.parts to $analyst, $auditor; grant select (mail) on app.person to public;
  grant select on app.parts to $passing with grant option; grant trigger, references on app.person to $analyst;
  set role $passing; grant select on app.parts to $analyst; reset role`
const relations = ['person', 'mails', 'kept', 'parts']

async function takeOver(program: string): Promise<void> {
  await using store = await createEmptyDatabase()
  await using masked = await createMaskedDatabase()
  const folder = await mkdtemp(join(tmpdir(), 'masquerade-taken-over-'))
  const keyFile = join(folder, 'secret.key')
  await writeFile(keyFile, randomBytes(32).toString('base64'), { mode: 0o600 })
  const environment = {
    ...{ MASQUERADE_DATA_DIR: join(folder, 'data'), MASQUERADE_DATABASE_URL: store.url },
    ...{ MASQUERADE_SECRET_KEY_FILE: keyFile, MASQUERADE_PUBLIC_URL: 'https://masquerade.example' },
    ...{ MASQUERADE_HTTP_PORT: '0', MASQUERADE_HTTPS_PORT: '0', MASQUERADE_GATEWAY_PORT: '0' },
    XDG_CONFIG_HOME: folder,
  }
  const roles = [await masked.createRole('analyst'), await masked.createRole('auditor')]
  await masked.createRole('passing', '')
  await masked.database.sql.unsafe(
    schema.replaceAll(/\$([a-z]+)/g, (_, name: string) => `"${masked.role(name)}"`),
  )
  const unmasked = await listPrivileges(masked.database, roles)
  const db = freshDatabase()

  const serve = async (file?: string) => {
    const service = startCommand(['serve'], environment, file)
    await service.waitFor(/Ctrl\+C/)
    const { httpPort } = JSON.parse(await readFile(join(folder, 'data', 'run.json'), 'utf8'))
    const token = (await runCommand(['token', '--admin'], environment, file)).stdout.trim()
    const send = async (method: string, path: string, properties?: object) => {
      const answer = await fetch(`http://127.0.0.1:${httpPort}${path}?${apiVersion}`, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(properties && { body: JSON.stringify({ properties }) }),
      })
      const text = await answer.text()
      assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`)
      return {
        body: text === '' ? {} : JSON.parse(text),
        state: answer.headers.get('x-masquerade-enforcement'),
      }
    }
    const stop = async () => {
      service.child.kill('SIGTERM')
      assert.equal((await service.ended).code, 0)
    }
    return { send, stop, token, origin: `http://127.0.0.1:${httpPort}`, child: service.child }
  }

  const former = await serve(program)
  await former.send('PUT', db.replace(/\/databases\/.*/, ''), {})
  await former.send('PUT', db, { binding: bindingOf(masked.url) })
  const enabled = { dataMaskingState: 'Enabled', exemptPrincipals: masked.role('auditor') }
  await former.send('PUT', policyUrl(db), enabled)
  for (const [name, tableName] of [
    ['mail', 'person'],
    ['parts', 'parts'],
  ] as const) {
    const rule = { schemaName: 'app', tableName, columnName: 'mail', maskingFunction: 'Email' }
    const { state } = await former.send('PUT', ruleUrl(db, name), rule)
    assert.equal(state, 'Enforced')
  }
  await former.stop()

  // Both read from before the new service starts until after its masks are in place.
  let isOver = false
  const analyst = masked.connectAs('analyst')
  const auditor = masked.connectAs('auditor')
  const counts = { denied: 0, raw: 0 }
  const reading = (async () => {
    while (!isOver)
      for (const relation of relations) {
        const seen = await analyst.sql.unsafe(`select mail from app.${relation}`).then(
          (rows) => JSON.stringify([...rows]),
          ({ code }: { code: string }) => code,
        )
        assert.equal(seen, '42501', `a masked role reads app.${relation}`)
        counts.denied++
        const rows = await auditor.sql.unsafe(`select mail from app.${relation}`)
        assert.equal(rows[0]?.mail, canary, `an exempt role reads app.${relation}`)
        counts.raw++
      }
  })()
  const service = await serve()
  try {
    await waitUntil('the masks are taken over', async () => {
      const { body } = await service.send('GET', `${policyUrl(db)}/enforcement`)
      return body.state === 'Enforced' && (await hasNewRecords(masked))
    })
    isOver = true
    await reading
    assert.ok(counts.denied > 0 && counts.raw > 0)
    const twin = await analyst.sql.unsafe('select mail from masked_app.person')
    assert.deepEqual([...twin], [{ mail: 'zXXX@XXXX.com' }])

    const place = db
      .split('/')
      .filter((_part, at) => [2, 4, 8, 10].includes(at))
      .join('/')
    const access = ['--url', service.origin, '--token', service.token]
    const undone = await runCommand(
      ['database', 'unbind', place, '--restore', '--yes', ...access],
      environment,
    )
    assert.equal(undone.code, 0, undone.stdout + undone.stderr)
    assert.deepEqual(await listPrivileges(masked.database, roles), unmasked)
    await service.stop()
  } finally {
    isOver = true
    service.child.kill('SIGKILL')
    await rm(folder, { recursive: true, force: true })
  }
}

/** Tables of records as this version has them. */
async function hasNewRecords({ database }: Awaited<ReturnType<typeof createMaskedDatabase>>) {
  const [row] = await database.sql`select to_regclass('masquerade_guard.twin_owner') is not null as there`
  return row?.there === true
}

clause(
  'ENF-558',
  'A database that release 0.1.0 or 0.2.0 masked is taken over: no masked role reads a raw value meanwhile, no exempt…',
  async (t: TestContext) => {
    for (const version of ['0.1.0', '0.2.0']) {
      const commit = findRelease(version)
      const skip = commit === undefined && 'this checkout has no history: git fetch --unshallow'
      await t.test(version, { skip }, async () => {
        using release = unpackRelease(commit ?? '')
        await takeOver(release.program)
      })
    }
  },
)
