import { X509Certificate } from 'node:crypto'
import { access, constants, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { readSecretKeys } from '../../auth/secret-key.ts'
import { readFreeBytes } from '../../db/data-directory.ts'
import { OperatorError } from '../../kernel/operator-error.ts'
import type { Settings } from '../../settings.ts'
import { startCommand } from '../invocation.ts'
import { requireOwnDirectory } from '../own-directory.ts'
import { quoteArgument } from '../quote-argument.ts'
import { type Finding, ok, problem, warning } from './finding.ts'

/** The data directory, its disk, the secret key and the certificates: what can be seen without any server. */
export async function examineInstallation(settings: Settings): Promise<Finding[]> {
  const directory = await examineDirectory(settings)
  if (directory.state === 'problem') return [directory]
  return [
    directory,
    await examineDisk(settings),
    examineSecretKey(settings),
    ...(await examineCertificates(settings)),
  ]
}

async function examineDirectory({ dataDir }: Settings): Promise<Finding> {
  const check = 'data directory'
  try {
    const { mode } = await stat(dataDir)
    await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK)
    await requireOwnDirectory(dataDir)
    if ((mode & 0o077) === 0) return ok(check, dataDir)
    return warning(
      check,
      `${dataDir} is open to other users of this machine.`,
      `chmod 700 ${quoteArgument(dataDir)}`,
    )
  } catch (cause) {
    if (cause instanceof OperatorError)
      return problem(check, cause.message, 'set MASQUERADE_DATA_DIR to the one of the service')
    const { code } = cause as NodeJS.ErrnoException
    const start = code === 'ENOENT'
    return problem(
      check,
      start ? `There is none at ${dataDir}.` : `${dataDir} cannot be used (${code}).`,
      start
        ? `${startCommand}, or set MASQUERADE_DATA_DIR to the one of the service`
        : `chown -R "$(id -u)" ${quoteArgument(dataDir)}`,
    )
  }
}

/** Below the first the service refuses writes; the second leaves time to act. */
const [leastBytes, fewBytes] = [32 * 1024 ** 2, 1024 ** 3]

async function examineDisk({ dataDir }: Settings): Promise<Finding> {
  const free = await readFreeBytes(dataDir)
  const words = `${Math.floor(free / 1024 ** 2).toLocaleString('en')} MiB are free.`
  if (free >= fewBytes) return ok('disk', words)
  const fix = `df -h ${quoteArgument(dataDir)}, and make room there`
  return free < leastBytes
    ? problem('disk', `Only ${words} Writes are refused.`, fix)
    : warning('disk', words, fix)
}

function examineSecretKey({ dataDir, secretKeyFile }: Settings): Finding {
  const file = secretKeyFile ?? join(dataDir, 'secret.key')
  try {
    readSecretKeys(dataDir, secretKeyFile)
    return ok('secret key', file)
  } catch (error) {
    return problem(
      'secret key',
      (error as Error).message,
      'bring the file back from a backup; where it is lost: masquerade admin restore --replace-keys',
    )
  }
}

const dayMs = 24 * 60 * 60 * 1000
const soonDays = 14

async function examineCertificates({ dataDir, tlsCertFile }: Settings): Promise<Finding[]> {
  if (tlsCertFile !== undefined)
    return [
      await examineCertificate(
        'certificate',
        tlsCertFile,
        `replace ${tlsCertFile}; the service reads it anew`,
      ),
    ]
  const renew = 'masquerade serve: the next start makes a new one'
  return [
    await examineCertificate('certificate authority', join(dataDir, 'tls', 'ca.pem'), renew),
    await examineCertificate('certificate', join(dataDir, 'tls', 'server.pem'), renew),
  ]
}

async function examineCertificate(check: string, file: string, fix: string): Promise<Finding> {
  try {
    const { validFrom, validTo } = new X509Certificate(await readFile(file))
    const daysLeft = Math.floor((Date.parse(validTo) - Date.now()) / dayMs)
    if (Date.parse(validFrom) > Date.now())
      return problem(check, `${file} is valid from ${validFrom} only.`, 'set the clock of this machine right')
    if (daysLeft < 0) return problem(check, `${file} expired on ${validTo}.`, fix)
    if (daysLeft < soonDays) return warning(check, `${file} expires in ${daysLeft} days.`, fix)
    return ok(check, `${file} is valid for ${daysLeft} days.`)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    return problem(check, `${file} cannot be read (${code}).`, fix)
  }
}
