import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { open, readdir, rename, rm, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { PassThrough, type Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { dumpStore } from '../db/backup/dump-store.ts'
import type { BackupEnd } from '../db/backup/manifest.ts'
import type { Database } from '../db/database.ts'
import { isAlive } from '../db/server/stale-server.ts'
import { countOf } from '../kernel/count-of.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import { version } from '../version.ts'
import { collectFiles } from './backup/files.ts'
import { chooseLock, encrypt, type Lock } from './backup/lock.ts'
import { openSource } from './backup/open-source.ts'
import { type Command, readArgs, refuseUse } from './command.ts'
import { showProgress } from './progress.ts'
import { currentSettings, report, surroundings } from './surroundings.ts'

const options = {
  recipient: { type: 'string', multiple: true },
  'passphrase-file': { type: 'string' },
  json: { type: 'boolean' },
} as const

export const backup: Command = {
  name: 'backup',
  summary: 'Write everything the service keeps to one encrypted file',
  help: `
Usage: masquerade backup FILE [--passphrase-file FILE | --recipient AGE-KEY…]
       masquerade backup - [--passphrase-file FILE | --recipient AGE-KEY…]

Writes the service's database as of one moment, the secret key, certificates and settings to one file, encrypted in the
format of age. The service goes on meanwhile. '-' is the standard output. The file appears, readable by you alone, when
it is complete. Databases that are bound are not part of it: they have backups of their own.
The passphrase comes from --passphrase-file ('-': the standard input), MASQUERADE_BACKUP_PASSPHRASE, or a question on the
terminal; elsewhere from the first line of the standard input. With --recipient the file is for the holder of that key of
age (age1…), and no passphrase is needed.
It works for the user who can read the data directory. 'masquerade restore FILE --check' tells whether a file is good.`,
  options,
  async run(args) {
    const { values, positionals } = readArgs('backup', args, { options, allowPositionals: true })
    const [file, ...more] = positionals
    if (file === undefined || more.length > 0) return refuseUse('backup', "Name one file to write, or '-'")
    if (file === '-' && values.json)
      return refuseUse('backup', "'-' and --json both write to the standard output")
    const settings = currentSettings()
    if (file !== '-') await requireAbsent(file)
    const lock = await chooseLock(values, settings)
    await using source = await openSource(settings)
    const startedAt = Date.now()
    const readFiles = async () => collectFiles(settings, surroundings().env)
    const end = await write(source.database, readFiles, lock, file)
    if (file === '-') return 0
    const rows = Object.values(end.rows).reduce((sum, count) => sum + count, 0)
    const { size: bytes } = await stat(file)
    const seconds = (Date.now() - startedAt) / 1000
    const words = `${file}: ${countOf(rows, 'row')} of ${countOf(Object.keys(end.rows).length, 'table')}, ${countOf(bytes, 'byte')}, in ${seconds.toFixed(1)} s.\n`
    report(values, { file, bytes, rows: end.rows, seconds }, words)
    return 0
  },
}

async function requireAbsent(file: string): Promise<void> {
  const found = await stat(file).catch(() => null)
  if (found) throw new OperatorError(`${file} exists already. Nothing was written.`)
}

type ReadFiles = Parameters<typeof dumpStore>[2]['readFiles']

async function write(database: Database, readFiles: ReadFiles, lock: Lock, file: string): Promise<BackupEnd> {
  const progress = showProgress()
  const plain = new PassThrough()
  const draft = file === '-' ? '' : await chooseDraft(file)
  try {
    const sealed = await encrypt(lock, plain.pipe(createGzip({ level: 1 })))
    const stored = store(sealed, file === '-' ? surroundings().stdout : createDraft(draft))
    // A disk that fills up ends the reading as well; the error is that of the disk.
    stored.catch((error) => plain.destroy(error))
    const end = await readStore(database, readFiles, plain, progress.say)
    await stored
    if (file !== '-') await settle(draft, file)
    return end
  } catch (cause) {
    if (file !== '-') await rm(draft, { force: true })
    const { code, syscall } = cause as NodeJS.ErrnoException
    if (syscall === undefined) throw cause
    throw new OperatorError(`${file} cannot be written (${code}).`, { cause })
  } finally {
    progress.end()
  }
}

async function readStore(
  database: Database,
  readFiles: ReadFiles,
  plain: PassThrough,
  say: (step: string) => void,
): Promise<BackupEnd> {
  let attempts = 0
  const end = await database.transaction(async (tx) => {
    if (attempts++ > 0) throw new OperatorError('The database changed under the backup. Start it again.')
    const put = async (piece: Buffer) => {
      if (!plain.write(piece)) await once(plain, 'drain')
    }
    const onProgress = (table: string, rows: number) => say(`${table}: ${countOf(rows, 'row')}`)
    return dumpStore(tx, put, { version, readFiles, onProgress })
  })
  plain.end()
  return end
}

/**
 * The name under which a file is written until it is whole. Drafts of backups of this machine that were killed are removed:
 * their process has ended, or its number is ours now.
 */
async function chooseDraft(file: string): Promise<string> {
  const start = `${basename(file)}.${hostname()}-`
  const names = await readdir(dirname(file)).catch(() => [])
  for (const name of names.filter((name) => name.startsWith(start) && name.endsWith('.partial'))) {
    const pid = Number.parseInt(name.slice(start.length), 10)
    if (pid === process.pid || !isAlive(pid)) await rm(join(dirname(file), name), { force: true })
  }
  return join(dirname(file), `${start}${process.pid}.partial`)
}

const createDraft = (draft: string) => createWriteStream(draft, { flags: 'wx', mode: 0o600 })

async function store(sealed: Readable, sink: Writable): Promise<void> {
  await pipeline(sealed, sink, { end: sink !== surroundings().stdout })
}

/** The file appears whole, and survives a loss of power. */
async function settle(draft: string, file: string): Promise<void> {
  const handle = await open(draft, 'r')
  await handle.sync()
  await handle.close()
  await rename(draft, file)
}
