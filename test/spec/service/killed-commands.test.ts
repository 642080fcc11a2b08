import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before } from 'node:test'
import { generateX25519Identity, identityToRecipient } from 'age-encryption'
import { dumpSchema } from '../../../scripts/dump-schema.ts'
import { readSecretKeys } from '../../../src/auth/secret-key.ts'
import { readSealingKey } from '../../../src/db/instance.ts'
import { nameKey } from '../../../src/kernel/secret-box.ts'
import { clause } from '../../support/clause.ts'
import { startCommand } from '../../support/command.ts'
import { createEmptyDatabase } from '../../support/postgres.ts'
import { runHere, settleIn } from '../../support/run-here.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { waitUntil } from '../../support/wait-until.ts'

const entries = 30_000
let service: TestService
let environment: Record<string, string> = {}
let folder = ''
let file = ''
let identity: string[] = []
let recipient: string[] = []

before(async () => {
  service = await startTestService()
  environment = await settleIn(service)
  folder = await mkdtemp(join(tmpdir(), 'masquerade-killed-'))
  file = join(folder, 'night.backup')
  const key = await generateX25519Identity()
  recipient = ['--recipient', await identityToRecipient(key)]
  identity = ['--identity-file', join(folder, 'identity')]
  await writeFile(join(folder, 'identity'), key)
  await service.database.sql`
    insert into audit_event (tenant_id, actor, action, target)
    select ${service.tenantId}, '{}', 'try', '/entries/' || n from generate_series(1, ${entries}::int) n`
})
after(async () => {
  await service?.[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

/** Starts a command, and kills it as soon as `isMidway` says so. */
async function kill(
  args: readonly string[],
  settings: Record<string, string>,
  isMidway: () => unknown | Promise<unknown>,
): Promise<void> {
  const command = startCommand(args, settings)
  let isOver = false
  command.ended.then(() => {
    isOver = true
  })
  await waitUntil('the command is midway', async () => isOver || (await isMidway()), { everyMs: 2 })
  assert.equal(isOver, false, 'the command ended before it was killed')
  command.child.kill('SIGKILL')
  await command.ended
}

clause(
  'SVC-60',
  '`masquerade backup FILE` writes the store as of one moment, the secret key, certificates and settings to one encrypted file…',
  async () => {
    const { database } = service
    await database.transaction(async (tx) => {
      await tx`lock table audit_event in access exclusive mode`
      await kill(['backup', file, ...recipient], environment, async () => {
        const [row] = await tx`
          select count(*)::int as waiting from pg_locks where relation = 'audit_event'::regclass and not granted`
        return row?.waiting > 0 && readdirSync(folder).some((name) => name.endsWith('.partial'))
      })
    })
    assert.equal(existsSync(file), false)
    const again = await runHere(['backup', file, ...recipient], { environment })
    assert.equal(again.code, 0, again.stderr)
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.endsWith('.partial')),
      [],
    )
    const good = await runHere(['restore', file, '--check', ...identity], { environment })
    assert.equal(good.code, 0, good.stderr)
  },
)

clause(
  'SVC-61',
  '`masquerade restore FILE` restores into an empty data directory and an empty database, and into no other…',
  async () => {
    await using place = await createEmptyDatabase()
    const { sql } = place.database
    const dataDir = join(folder, 'restored')
    const settings = { MASQUERADE_DATA_DIR: dataDir, MASQUERADE_DATABASE_URL: place.url }
    const args = ['restore', file, ...identity]
    await kill(args, settings, async () => {
      const [row] = await sql`
        select count(*)::int as copying from pg_stat_activity where datname = current_database() and query ilike 'copy%'`
      return row?.copying > 0
    })
    const half = await runHere(['migrate'], { environment: settings })
    assert.match(half.stderr, /did not finish: run 'masquerade restore' again/)
    const again = await runHere(args, { environment: settings })
    assert.equal(again.code, 0, again.stderr)
    const [row] = await sql`select count(*)::int as count from masquerade.audit_event where action = 'try'`
    assert.equal(row?.count, entries)
    assert.equal(await dumpSchema(sql), await dumpSchema(service.database.sql), 'every index and key is back')
    assert.equal(existsSync(join(dataDir, 'secret.key')), true)
    const second = await runHere(args, { environment: settings })
    assert.match(second.stderr, /is not empty/)
  },
)

/** The first start of an embedded server takes seconds. */
if (process.env.MASQUERADE_TEST_ALL)
  clause(
    'SVC-61',
    '`masquerade restore FILE` restores into an empty data directory and an empty database, and into no other…',
    async () => {
      const dataDir = join(folder, 'embedded')
      const settings = { MASQUERADE_DATA_DIR: dataDir }
      await kill(['restore', file, ...identity], settings, () => existsSync(join(dataDir, 'postgres-port')))
      const again = await runHere(['restore', file, ...identity], { environment: settings })
      assert.equal(again.code, 0, again.stderr)
    },
  )

clause(
  'SVC-67',
  '`masquerade keys rotate-secret` replaces the secret key while every node runs and no request or session fails…',
  async () => {
    const { dataDir, database } = service
    const keys = () => readSecretKeys(dataDir, undefined)
    const [old = Buffer.alloc(0)] = keys()
    const rotate = ['keys', 'rotate-secret']
    await kill(rotate, environment, () => keys().length === 2)
    const fresh = nameKey(keys()[1] ?? Buffer.alloc(0))
    await kill(rotate, environment, async () => (await readSealingKey(database.sql)) === fresh)
    const done = await runHere(rotate, { environment })
    assert.equal(done.code, 0, done.stdout + done.stderr)
    assert.deepEqual(keys().map(nameKey), [fresh])
    assert.notEqual(nameKey(old), fresh)
    const token = service.tokenFor({ permissions: ['User.Read.All'] })
    assert.equal((await service.request('GET', '/v1.0/users?$top=1', { token })).status, 200)
    assert.ok((await readFile(join(dataDir, 'secret.key'), 'utf8')).trim().length > 40)
  },
)
