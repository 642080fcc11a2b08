import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import { OperatorError } from '../../kernel/operator-error.ts'

export const fastShutdownTimeoutMs = 20_000
const immediateShutdownTimeoutMs = 10_000

/**
 * Makes the cluster free to start after a service that was killed: its server may still run, or have left its pid
 * file behind with a pid that by now is another process's. The caller holds the directory's lock, so no living service
 * uses that server.
 */
export async function clearStaleServer(directory: string): Promise<void> {
  const pid = readPostmasterPid(directory)
  if (pid === undefined) return
  if (isServerOf(directory, pid)) {
    await stopProcess(pid, directory)
    return
  }
  // The server would take a foreign process of the same user with that pid for its predecessor, and refuse to start.
  rmSync(path.join(directory, 'postmaster.pid'), { force: true })
  for (const name of readdirSync(directory)) {
    if (name.startsWith('.s.PGSQL.')) rmSync(path.join(directory, name), { force: true })
  }
}

export function readPostmasterPid(directory: string): number | undefined {
  return Number.parseInt(readPostmasterFile(directory)[0] ?? '', 10) || undefined
}

/** The lines of postmaster.pid: pid, directory, start time, port, socket directory, address, memory key, status. */
export function readPostmasterFile(directory: string): string[] {
  try {
    return readFileSync(path.join(directory, 'postmaster.pid'), 'utf8').split('\n')
  } catch {
    return []
  }
}

/** A pid alone proves nothing: the process must be a PostgreSQL server at work in this very directory. */
function isServerOf(directory: string, pid: number): boolean {
  if (!isAlive(pid)) return false
  if (process.platform === 'linux') {
    try {
      const here = statSync(directory)
      const there = statSync(`/proc/${pid}/cwd`)
      const isPostgres = readFileSync(`/proc/${pid}/comm`, 'utf8').startsWith('postgres')
      return isPostgres && here.ino === there.ino && here.dev === there.dev
    } catch {
      return false
    }
  }
  const { stdout } = spawnSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' })
  return stdout.includes('postgres') && stdout.includes(directory)
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

async function stopProcess(pid: number, directory: string): Promise<void> {
  for (const [signal, timeoutMs] of [
    ['SIGINT', fastShutdownTimeoutMs],
    ['SIGQUIT', immediateShutdownTimeoutMs],
  ] as const) {
    process.kill(pid, signal)
    const deadline = Date.now() + timeoutMs
    while (Date.now() < deadline) {
      if (!isServerOf(directory, pid)) return
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  throw new OperatorError(
    `the database server of an earlier run (pid ${pid}) does not stop: end it and start again`,
  )
}
