import { createReadStream } from 'node:fs'
import { pipeline, type Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { notABackup } from '../db/backup/frames.ts'
import { requireKnownSchema } from '../db/backup/load-store.ts'
import type { BackedUpFile } from '../db/backup/manifest.ts'
import { type BackupSummary, type BackupVisitor, walkBackup } from '../db/backup/walk-backup.ts'
import { countOf } from '../kernel/count-of.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import type { Settings } from '../settings.ts'
import { requireEmptyDirectory, requireSameKey } from './backup/files.ts'
import { chooseKey, decrypt, type Lock } from './backup/lock.ts'
import { restoreInto } from './backup/restore-into.ts'
import { type Command, readArgs, refuseUse } from './command.ts'
import { requireOwnDirectory } from './own-directory.ts'
import { showProgress } from './progress.ts'
import { currentSettings, report } from './surroundings.ts'

const options = {
  check: { type: 'boolean' },
  'passphrase-file': { type: 'string' },
  'identity-file': { type: 'string' },
  json: { type: 'boolean' },
} as const

export const restore: Command = {
  name: 'restore',
  summary: 'Bring a backup back into an empty place',
  help: `
Usage: masquerade restore FILE [--passphrase-file FILE | --identity-file FILE]
       masquerade restore FILE --check [--passphrase-file FILE | --identity-file FILE]

Restores a file of 'masquerade backup' into an empty data directory and an empty database: the embedded one, or that of
MASQUERADE_DATABASE_URL. The whole file is read and checked first; a file that was cut short, changed, or opened with a
wrong passphrase changes nothing, and neither does one of a newer version. A backup of an older version is restored and
then migrated. --check reads the file and restores nothing.
Tokens, sign-ins and credentials for tools from before the restore end. The settings of the backup are in settings.env in the data directory, for
you to take over. When the service starts, its gateway opens once every bound database has been checked. Stop every
service of the same origin before: two that run mask the same databases by two policies.
The passphrase comes from the same places as that of 'backup'. --identity-file names a file with keys of age.`,
  options,
  async run(args) {
    const { values, positionals } = readArgs('restore', args, { options, allowPositionals: true })
    const [file, ...more] = positionals
    if (file === undefined || more.length > 0) return refuseUse('restore', 'Name one file to restore')
    if (file === '-')
      return refuseUse('restore', 'A file is read twice, so it cannot come from the standard input')
    const settings = currentSettings()
    if (!values.check) {
      await requireOwnDirectory(settings.dataDir)
      requireEmptyDirectory(settings.dataDir)
    }
    const lock = await chooseKey(values, settings)
    const startedAt = Date.now()
    const progress = showProgress()
    try {
      const { summary, files } = await check(file, lock, progress.say)
      if (!values.check) await restoreChecked(file, lock, settings, files, progress.say)
      progress.end()
      const seconds = (Date.now() - startedAt) / 1000
      const done = values.check ? 'is good' : 'is restored'
      report(
        values,
        { file, restored: !values.check, seconds, ...describe(summary) },
        render(file, done, summary, seconds),
      )
      return 0
    } finally {
      progress.end()
    }
  },
}

/** Reads the whole file, and refuses it unless every part is there and of a version that we know. */
async function check(
  file: string,
  lock: Lock,
  say: (step: string) => void,
): Promise<{ summary: BackupSummary; files: readonly BackedUpFile[] }> {
  const files: BackedUpFile[] = []
  const visitor: BackupVisitor = {
    manifest: requireKnownSchema,
    file: (found) => void files.push(found),
    async table({ name }, chunks) {
      say(`checking ${name}`)
      for await (const _chunk of chunks);
    },
  }
  return { summary: await walk(file, lock, visitor), files }
}

async function restoreChecked(
  file: string,
  lock: Lock,
  settings: Settings,
  files: readonly BackedUpFile[],
  say: (step: string) => void,
): Promise<void> {
  requireSameKey(files, settings)
  await restoreInto(settings, files, (visitor) => walk(file, lock, visitor), say)
}

async function walk(file: string, lock: Lock, visitor: BackupVisitor): Promise<BackupSummary> {
  const sealed = createReadStream(file, { highWaterMark: 256 * 1024 })
  await readable(sealed, file)
  const plain = createGunzip()
  pipeline(await decrypt(lock, sealed), plain, () => {})
  try {
    return await walkBackup(plain, visitor)
  } catch (cause) {
    if (!isDamage(cause)) throw cause
    throw notABackup('it was cut short or changed')
  } finally {
    plain.destroy()
    sealed.destroy()
  }
}

async function readable(stream: Readable, file: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    stream.once('open', resolve)
    stream.once('error', (cause: NodeJS.ErrnoException) =>
      reject(new OperatorError(`${file} cannot be read (${cause.code}).`, { cause })),
    )
  })
}

/** Errors of the decryption or of gzip: everything else has a name or a code of its own. */
function isDamage(error: unknown): boolean {
  if (error instanceof OperatorError || !(error instanceof Error)) return false
  const code = (error as NodeJS.ErrnoException).code ?? ''
  return code.startsWith('Z_') || /invalid tag|final chunk|unexpected end/i.test(error.message)
}

function describe({ manifest, end }: BackupSummary) {
  const { version, createdAt, tenantId, migrations } = manifest
  return { version, createdAt, tenantId, migration: migrations.length, rows: end.rows }
}

function render(file: string, done: string, { manifest, end }: BackupSummary, seconds: number): string {
  const rows = Object.values(end.rows).reduce((sum, count) => sum + count, 0)
  return `${file} of ${manifest.createdAt} (version ${manifest.version}) ${done}: ${countOf(rows, 'row')} of ${countOf(manifest.tables.length, 'table')}, in ${seconds.toFixed(1)} s.\n`
}
