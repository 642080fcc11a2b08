import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { readSecretKeys, renderKeys } from '../../auth/secret-key.ts'
import type { BackedUpFile } from '../../db/backup/manifest.ts'
import { restoreMarker } from '../../db/data-directory.ts'
import { OperatorError } from '../../kernel/operator-error.ts'
import { camel, prefix, type Settings, settingEntries } from '../../settings.ts'

const secretKeyName = 'secret.key'
const settingsName = 'settings.env'
/** Files of the data directory that cannot be made anew, or that clients know. */
const ownFiles = [secretKeyName, 'administrator-password', 'administrator-application.json', 'shop.json']
const folders = { tls: 'tls', settings: 'settings' } as const
/** Settings that name a file the service needs; the backup holds these files. */
const fileSettings = ['TLS_CERT_FILE', 'TLS_KEY_FILE', 'TRUSTED_ISSUERS_FILE']
/** Settings of one machine, or of the command alone: another place has its own. */
const placeSettings = ['DATA_DIR', 'DATABASE_URL', 'SECRET_KEY_FILE', 'LOG_FILE', 'BACKUP_PASSPHRASE']
const restorable = /^(?:[a-z][a-z.-]*|(?:tls|settings)\/[a-z][\w.-]*)$/

/** Everything beside the store that a service needs: keys, certificates, settings. */
export function collectFiles(settings: Settings, environment: NodeJS.ProcessEnv): BackedUpFile[] {
  const { dataDir, secretKeyFile } = settings
  const tlsFolder = join(dataDir, folders.tls)
  const tls = existsSync(tlsFolder) ? readdirSync(tlsFolder).map((name) => `${folders.tls}/${name}`) : []
  const own = [...ownFiles, ...tls].filter(
    (name) => name !== secretKeyName && restorable.test(name) && existsSync(join(dataDir, name)),
  )
  const named = fileSettings.flatMap((name) => {
    const file = Reflect.get(settings, camel(name)) as string | undefined
    return file === undefined ? [] : [{ name, file }]
  })
  return [
    toFile(secretKeyName, Buffer.from(renderKeys(readSecretKeys(dataDir, secretKeyFile)))),
    toFile(settingsName, Buffer.from(renderSettings(environment))),
    ...own.map((name) => toFile(name, readPart(join(dataDir, name)))),
    ...named.map(({ name, file }) => toFile(nameOf(name), readPart(file))),
  ]
}

const nameOf = (setting: string) => `${folders.settings}/${setting.toLowerCase().replaceAll('_', '-')}`

function toFile(name: string, content: Buffer): BackedUpFile {
  return { name, content: content.toString('base64') }
}

function readPart(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new OperatorError(`${file} belongs to the backup and cannot be read (${code}).`, { cause })
  }
}

/** The settings of the command's environment, as lines of an environment file. */
function renderSettings(environment: NodeJS.ProcessEnv): string {
  const lines = settingEntries.flatMap(([name]) => {
    const value = environment[prefix + name]
    if (value === undefined || value === '' || placeSettings.includes(name) || /[\r\n]/.test(value)) return []
    return [`${prefix}${name}=${fileSettings.includes(name) ? nameOf(name) : value}\n`]
  })
  return lines.join('')
}

/** Refuses a data directory that holds anything but what a restore that was killed left: a restore replaces nothing. */
export function requireEmptyDirectory(dataDir: string): void {
  const found = existsSync(dataDir) ? readdirSync(dataDir).filter((name) => name !== 'lost+found') : []
  if (found.length > 0 && !found.includes(restoreMarker))
    throw new OperatorError(
      `The data directory ${dataDir} is not empty (${found.slice(0, 3).join(', ')}): restore into an empty one.`,
    )
}

/** Refuses a secret key of the operator's own that is not the one of the backup. */
export function requireSameKey(files: readonly BackedUpFile[], { secretKeyFile, dataDir }: Settings): void {
  if (secretKeyFile === undefined || !existsSync(secretKeyFile)) return
  const restored = files.find(({ name }) => name === secretKeyName)
  const keys = renderKeys(readSecretKeys(dataDir, secretKeyFile))
  if (restored && Buffer.from(restored.content, 'base64').toString('latin1') !== keys)
    throw new OperatorError(
      `${secretKeyFile} holds another key than the backup: move it away, and the restore writes the right one.`,
    )
}

/** Writes the files of a backup, private to the operator. Names that no backup of ours has are refused. */
export function writeFiles(files: readonly BackedUpFile[], { dataDir, secretKeyFile }: Settings): void {
  for (const { name, content } of files) {
    if (!restorable.test(name)) throw new OperatorError(`The backup has a file that no backup has: ${name}`)
    const isKey = name === secretKeyName && secretKeyFile !== undefined
    const file = isKey ? secretKeyFile : join(dataDir, name)
    if (isKey && existsSync(file)) continue
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    const bytes = Buffer.from(content, 'base64')
    const isSettings = name === settingsName
    const text = isSettings ? placePaths(bytes.toString('utf8'), dataDir) : bytes
    writeFileSync(file, text, { mode: 0o600, flag: 'wx', flush: true })
  }
}

/** Files of settings are restored into the data directory: the settings name them there. */
function placePaths(text: string, dataDir: string): string {
  return text.replaceAll(
    /^(\w+_FILE=)(settings\/)/gm,
    (_line, name: string, path: string) => name + join(dataDir, path),
  )
}
