import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'

export interface Program {
  readonly command: string
  readonly args: readonly string[]
  readonly logFile: string
  readonly account?: { readonly uid: number; readonly gid: number }
  readonly environment?: Record<string, string>
}

/** A program that can be killed with all processes that it started, and started again. */
export class Daemon {
  readonly #program: Program
  #child: ChildProcess | undefined

  constructor(program: Program) {
    this.#program = program
  }

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  start(): void {
    const { command, args, logFile, account, environment } = this.#program
    const log = openSync(logFile, 'a')
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('MASQUERADE_'))
    this.#child = spawn(command, args, {
      // A group of its own, so that signals reach its children.
      detached: true,
      stdio: ['ignore', log, log],
      env: { ...Object.fromEntries(inherited), ...environment },
      ...account,
    })
  }

  /** To every process of the group. */
  signal(signal: NodeJS.Signals): void {
    try {
      if (this.pid > 0) process.kill(-this.pid, signal)
    } catch {
      // The group is gone.
    }
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const child = this.#child
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    this.signal('SIGCONT')
    this.signal(signal)
    const late = setTimeout(() => this.signal('SIGKILL'), 10_000)
    await ended
    clearTimeout(late)
    this.signal('SIGKILL')
  }

  readLog(): string {
    return readFileSync(this.#program.logFile, 'utf8')
  }
}

export async function findFreePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('a TCP server has an address')
  return address.port
}
