import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { writeRunFile } from '../../../src/cli/run-file.ts'
import { readText } from '../../house/tree.ts'
import { createMaskedDatabase } from '../../support/masked-database.ts'
import { listPrivileges } from '../../support/privileges.ts'
import { runProgram } from '../../support/programs.ts'
import { startTestService } from '../../support/service.ts'

const main = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url))
const roles = ['shop_app', 'reporting_job', 'shop_analyst']

/** The commands of the page, in their order. */
function readCommands(): string[] {
  return [...readText('docs/your-own-database.md').matchAll(/^```sh\n(.*?)^```$/gms)].map(
    ([, text = '']) => text,
  )
}

test('the commands of docs/your-own-database.md work as they stand', async () => {
  await using target = await createMaskedDatabase()
  await using service = await startTestService({ MASQUERADE_AUDIT_SECONDS: '3600' })
  const folder = await mkdtemp(join(tmpdir(), 'masquerade-test-'))
  const { sql } = target.database
  try {
    for (const role of roles) await sql.unsafe(`create role ${role} login password 'secret'`)
    await sql.unsafe(`
      create table public.customers (id int primary key, email text, card text);
      insert into public.customers values (1, 'ann@example.com', '4111111111111111');
      grant usage on schema public to public; grant select on public.customers to ${roles.join(', ')}`)
    const before = await listPrivileges(target.database, roles)
    const { dataDir, databaseUrl } = service
    await writeRunFile(dataDir, service)
    const environment = {
      XDG_CONFIG_HOME: folder,
      MASQUERADE_DATA_DIR: dataDir,
      MASQUERADE_DATABASE_URL: databaseUrl,
      SHOP: target.url,
    }
    const head = `set -e; cd '${folder}'; masquerade() { '${process.execPath}' '${main}' "$@"; }`
    const run = (text: string) => runProgram('bash', ['-c', `${head}\n${text}`], environment)
    const canRead = async (role: string) => {
      const [row] =
        await sql`select has_column_privilege(${role}, 'public.customers', 'email', 'SELECT') as may`
      return row?.may
    }
    const commands = readCommands()
    assert.equal(commands.length, 6)
    for (const [at, text] of commands.entries()) {
      if (at === 5)
        assert.deepEqual(await Promise.all(roles.map(canRead)), [true, true, false], 'before it is undone')
      const { code, out, errors } = await run(text)
      assert.equal(code, 0, `${text}\n${out}${errors}`)
      if (at < 4) assert.deepEqual(await Promise.all(roles.map(canRead)), [true, true, true], text)
    }
    assert.deepEqual(await listPrivileges(target.database, roles), before)
  } finally {
    await rm(folder, { recursive: true, force: true })
    await sql.unsafe(`drop owned by ${roles.join(', ')}; drop role ${roles.join(', ')}`)
  }
})
