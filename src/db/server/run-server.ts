import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, openSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import { OperatorError } from '../../kernel/operator-error.ts'
import type { Account } from './account.ts'
import { nameForAccount } from './init-cluster.ts'
import { fastShutdownTimeoutMs, readPostmasterFile } from './stale-server.ts'

export type ServerPlan = {
  bin: string
  directory: string
  account: Account | undefined
  port: number
  /** For throw-away clusters: no durability, no log files. */
  fast: boolean
  maxConnections?: number | undefined
}

export type RunningServer = {
  pid: number
  /** Absent where the path would be longer than a socket's name may be. */
  socketDirectory?: string
  /** Resolves with the reason when the server ends without having been asked to. */
  died: Promise<string>
  stop(): Promise<void>
}

/** sun_path holds 104 bytes on macOS and 108 on Linux, with a closing NUL. */
const longestSocketPath = 103

export async function runServer(plan: ServerPlan): Promise<RunningServer> {
  const startLog = `${plan.directory}.log`
  rmSync(startLog, { force: true })
  const log = openSync(startLog, 'wx', 0o600)
  const socketPath = path.join(plan.directory, `.s.PGSQL.${plan.port}`)
  const hasSocket = Buffer.byteLength(socketPath) <= longestSocketPath
  const name = nameForAccount(plan.directory, plan.account)
  // A session of its own: the terminal's Ctrl-C is for the service, which stops the server when it has drained.
  const child = spawn(
    path.join(plan.bin, 'postgres'),
    ['-D', name, ...serverOptions(plan, hasSocket ? name : '')],
    {
      ...plan.account,
      cwd: plan.directory,
      detached: true,
      stdio: ['ignore', log, log],
      env: { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' },
    },
  )
  closeSync(log)
  // A server alone is no reason for the process to stay.
  child.unref()
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
    child.once('error', () => resolve())
  })
  await waitUntilReady(child, plan)
  let isStopping = false
  return {
    pid: child.pid ?? 0,
    ...(hasSocket && { socketDirectory: plan.directory }),
    died: new Promise((resolve) => {
      exited.then(() => isStopping || resolve(readReason(plan) ?? 'it was ended from outside'))
    }),
    async stop() {
      isStopping = true
      await stopChild(child, exited)
    },
  }
}

function serverOptions(plan: ServerPlan, socketDirectory: string): string[] {
  const settings: Record<string, string> = {
    listen_addresses: '127.0.0.1',
    port: String(plan.port),
    // Double quotes: the value is a list, and a path may hold a comma.
    unix_socket_directories: socketDirectory && `"${socketDirectory.replaceAll('"', '""')}"`,
    unix_socket_permissions: '0700',
    max_connections: String(plan.maxConnections ?? 200),
    password_encryption: 'scram-sha-256',
    timezone: 'UTC',
    log_timezone: 'UTC',
    // Failed statements can hold data that must not be logged; the client that sent them gets the error.
    log_min_messages: 'log',
    log_min_error_statement: 'panic',
    log_error_verbosity: 'terse',
    log_checkpoints: 'off',
    ...(plan.fast ? fastSettings : loggedSettings),
  }
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

/** Of throw-away servers, which also show what becomes of prepared transactions. */
const fastSettings = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_prepared_transactions: '10',
}

/** One file for each day of the week, begun anew when the day comes again. */
const loggedSettings = {
  logging_collector: 'on',
  log_directory: 'log',
  log_filename: 'postgresql-%a.log',
  log_file_mode: '0600',
  log_rotation_age: '1d',
  log_rotation_size: '0',
  log_truncate_on_rotation: 'on',
}

async function waitUntilReady(child: ChildProcess, plan: ServerPlan): Promise<void> {
  let spawnError: Error | undefined
  child.once('error', (error) => {
    spawnError = error
  })
  for (;;) {
    const lines = readPostmasterFile(plan.directory)
    if (lines[0] === String(child.pid) && lines[7]?.trim() === 'ready') return
    if (spawnError || child.exitCode !== null || child.signalCode !== null) {
      const reason = spawnError?.message ?? readReason(plan) ?? `it ended with ${child.exitCode}`
      throw new ServerStartError(reason, plan.port)
    }
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

export class ServerStartError extends OperatorError {
  readonly isPortBusy: boolean
  /** Processes of a server that was killed hold its memory for a moment longer. */
  readonly isPredecessorEnding: boolean

  constructor(reason: string, port: number) {
    const isPortBusy = /TCP\/IP socket|could not bind/.test(reason)
    super(`the embedded database does not start: ${isPortBusy ? `port ${port} is in use` : reason}`)
    this.isPortBusy = isPortBusy
    this.isPredecessorEnding = /shared memory block|lock file/.test(reason)
  }
}

/** The server complains to its standard error at first, and to its log file once that is open. */
function readReason({ directory, fast }: ServerPlan): string | undefined {
  const logs = path.join(directory, 'log')
  const newest = (existsSync(logs) && !fast ? readdirSync(logs) : [])
    .map((name) => path.join(logs, name))
    .sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)[0]
  for (const file of [`${directory}.log`, newest]) {
    if (file === undefined) continue
    const lines = readFileSync(file, 'utf8').split('\n')
    // A log file can hold what an earlier server of the same day complained about.
    const sinceStart = lines.slice(lines.findLastIndex((text) => text.includes('starting PostgreSQL')) + 1)
    const line = sinceStart.findLast((text) => /(FATAL|PANIC):/.test(text))
    if (line) return line.replace(/^.*?(FATAL|PANIC):\s*/, '').trim()
  }
  return undefined
}

async function stopChild(child: ChildProcess, exited: Promise<void>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGINT')
  const escalation = setTimeout(() => child.kill('SIGQUIT'), fastShutdownTimeoutMs)
  await exited
  clearTimeout(escalation)
}
