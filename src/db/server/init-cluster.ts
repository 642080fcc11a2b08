import { spawn } from 'node:child_process'
import {
  closeSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  lchownSync,
  mkdtempSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statfsSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import path from 'node:path'
import { OperatorError } from '../../kernel/operator-error.ts'
import { type Account, canEnter } from './account.ts'

export type ClusterPlan = {
  bin: string
  version: string
  /** Made whole or not at all: initdb works beside it, and the result is renamed. */
  directory: string
  account: Account | undefined
  superuser: string
  password: string
  fast: boolean
}

const neededMegabytes = 100

export async function initCluster(plan: ClusterPlan): Promise<void> {
  const { directory, account } = plan
  const parent = path.dirname(directory)
  const { bavail, bsize } = statfsSync(parent)
  const freeMegabytes = Math.floor((bavail * bsize) / 1_000_000)
  if (freeMegabytes < neededMegabytes) {
    throw new OperatorError(
      `the data directory ${parent} has ${freeMegabytes} MB free, and the embedded database needs ${neededMegabytes} MB`,
    )
  }
  removeDrafts(directory)
  const draft = mkdtempSync(`${directory}.new-`)
  // Where the directory belongs to another user than root, that user may have put a link in its place.
  if (account) lchownSync(draft, account.uid, account.gid)
  await runInitdb(plan, draft)
  renameSync(draft, directory)
  syncDirectory(parent)
}

/** The initdb of a service that was killed may still be at work: every attempt has a directory of its own. */
function removeDrafts(directory: string): void {
  const parent = path.dirname(directory)
  for (const name of readdirSync(parent)) {
    if (!name.startsWith(`${path.basename(directory)}.new-`)) continue
    rmSync(path.join(parent, name), { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  }
}

/**
 * The directory's name for a server that runs as the account. A directory that the account cannot reach by its path,
 * such as one below a private home, is entered by us before the account is put on, and is then the server's own
 * working directory.
 */
export function nameForAccount(directory: string, account: Account | undefined): string {
  if (!account || canEnter(directory, account)) return directory
  if (process.platform === 'linux') return '/proc/self/cwd'
  throw new OperatorError(
    `user id ${account.uid}, which runs the embedded database, cannot enter ${directory}: set MASQUERADE_DATA_DIR to a directory it can reach`,
  )
}

async function runInitdb(plan: ClusterPlan, draft: string): Promise<void> {
  const passwordFile = openPasswordFile(`${plan.directory}.password`, plan)
  const major = Number.parseInt(plan.version, 10)
  const locale =
    major >= 17 ? ['--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C'] : ['--locale=C']
  const options = [
    `--pgdata=${nameForAccount(draft, plan.account)}`,
    `--username=${plan.superuser}`,
    '--pwfile=/dev/stdin',
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--data-checksums',
    '--no-instructions',
    ...locale,
    ...(plan.fast ? ['--no-sync'] : []),
  ]
  const child = spawn(path.join(plan.bin, 'initdb'), options, {
    ...plan.account,
    cwd: draft,
    stdio: [passwordFile, 'ignore', 'pipe'],
    env: { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' },
  })
  closeSync(passwordFile)
  let complaints = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaints += text
  })
  const code = await new Promise<number | string>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('close', (status, signal) => resolve(status ?? signal ?? 'unknown'))
  })
  if (code === 0) return
  rmSync(draft, { recursive: true, force: true })
  const reason = explainInitdb(complaints) ?? `initdb ended with ${code}`
  throw new OperatorError(`the embedded database could not be created in ${path.dirname(draft)}: ${reason}`)
}

/** Unlinks the file before writing it: initdb reads it by its descriptor, and no process can open it by name. */
function openPasswordFile(name: string, { account, password }: ClusterPlan): number {
  rmSync(name, { force: true })
  const file = openSync(name, 'wx+', 0o600)
  fchmodSync(file, 0o600)
  if (account) fchownSync(file, account.uid, account.gid)
  unlinkSync(name)
  writeSync(file, `${password}\n`, 0)
  return file
}

function explainInitdb(complaints: string): string | undefined {
  const lines = complaints.split('\n').filter((line) => /error|FATAL|PANIC|could not|cannot/i.test(line))
  return lines[0]?.replace(/^.*?(initdb: error|FATAL|PANIC):\s*/, '').trim()
}

function syncDirectory(directory: string): void {
  const handle = openSync(directory, 'r')
  fsyncSync(handle)
  closeSync(handle)
}
