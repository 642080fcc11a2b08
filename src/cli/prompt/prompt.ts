import { createReadStream } from 'node:fs'
import { access, constants } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import pg from 'pg'
import { type Place, sendCancel } from './cancel.ts'
import { describeError, type Said } from './describe-error.ts'
import { interact } from './interact.ts'
import { exitCodes, Shell } from './shell.ts'

export type Action =
  | { readonly kind: 'command'; readonly text: string }
  | { readonly kind: 'file'; readonly name: string }

export interface PromptOptions {
  readonly place: Place
  readonly user: string
  readonly password: string
  readonly database: string
  /** What to do instead of asking, in this order. */
  readonly actions: readonly Action[]
  readonly isExpanded: boolean
  readonly stopsOnError: boolean
}

/** A small psql where there is none. Its exit codes are psql's. */
export async function openPrompt(options: PromptOptions): Promise<number> {
  const { place, user, password, database } = options
  // Whoever reads the output may have enough of it.
  process.stdout.on('error', () => process.exit(exitCodes.failed))
  const client = new pg.Client({ ...place, user, password, database, application_name: 'masquerade psql' })
  const shell = new Shell(client, { out: process.stdout, errors: process.stderr })
  shell.isExpanded = options.isExpanded
  shell.stopsOnError = options.stopsOnError
  const reported = new Map<string, string>()
  ;(client as unknown as Reporting).connection.on('parameterStatus', ({ parameterName, parameterValue }) => {
    reported.set(parameterName, parameterValue)
    shell.splitter.standardStrings = reported.get('standard_conforming_strings') !== 'off'
  })
  try {
    await client.connect()
  } catch (error) {
    const { severity = 'FATAL', message } = error as Error & Partial<Said>
    process.stderr.write(describeError({ ...(error as Said), severity, message }))
    return exitCodes.lost
  }
  try {
    return await act(shell, options)
  } finally {
    await client.end().catch(() => {})
  }
}

/** What the driver keeps to itself. */
interface Reporting {
  readonly connection: {
    on(
      event: 'parameterStatus',
      listener: (said: { parameterName: string; parameterValue: string }) => void,
    ): void
  }
  readonly processID: number
  readonly secretKey: number
}

async function act(shell: Shell, { actions, place, database }: PromptOptions): Promise<number> {
  const cancel = () => {
    const { processID, secretKey } = shell.client as unknown as Reporting
    return sendCancel(place, processID, secretKey)
  }
  if (actions.length === 0 && process.stdin.isTTY) return interact(shell, database, cancel)
  process.on('SIGINT', () => {
    if (!shell.isRunning) process.exit(130)
    cancel().catch(() => process.exit(130))
  })
  if (actions.length === 0) return shell.runScript(linesOf(process.stdin))
  let code: number = exitCodes.good
  for (const action of actions) {
    code = action.kind === 'command' ? await command(shell, action.text) : await file(shell, action.name)
    if (shell.isLost) return exitCodes.lost
    if (shell.hasQuit || (code !== exitCodes.good && shell.stopsOnError)) break
  }
  return code
}

async function command(shell: Shell, text: string): Promise<number> {
  const isGood = /^\s*\\/.test(text) ? await shell.takeLine(text) : await shell.run(text)
  return isGood ? exitCodes.good : exitCodes.failed
}

async function file(shell: Shell, name: string): Promise<number> {
  if (name === '-') return shell.runScript(linesOf(process.stdin))
  try {
    await access(name, constants.R_OK)
  } catch (error) {
    process.stderr.write(`${name} cannot be read (${(error as NodeJS.ErrnoException).code}).\n`)
    return exitCodes.failed
  }
  return shell.runScript(linesOf(createReadStream(name)))
}

function linesOf(input: Readable): AsyncIterable<string> {
  return createInterface({ input, terminal: false, crlfDelay: Number.POSITIVE_INFINITY })
}
