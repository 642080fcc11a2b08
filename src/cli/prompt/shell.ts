import type pg from 'pg'
import { backslashHelp, readBackslash } from './backslash.ts'
import { describeError, type Said } from './describe-error.ts'
import { type Output, runStatement } from './run-statement.ts'
import { StatementSplitter } from './split-statements.ts'

/** psql's own exit codes. */
export const exitCodes = { good: 0, failed: 1, lost: 2, stopped: 3 } as const

/** What a prompt and a script share: lines go in, tables and errors come out. */
export class Shell {
  readonly client: pg.Client
  readonly splitter = new StatementSplitter()
  isRunning = false
  isExpanded = false
  stopsOnError = false
  hasQuit = false
  isLost = false
  readonly #output: Output

  constructor(client: pg.Client, output: Output) {
    this.client = client
    this.#output = output
    client.on('notice', (notice) => output.errors.write(describeError(notice as Said)))
    client.on('error', (error) => {
      // A server that ends a session says why; what the network says after it is no news.
      if (!this.isLost && !this.isRunning)
        output.errors.write(describeError({ severity: 'FATAL', ...said(error) }))
      this.isLost = true
    })
    client.on('end', () => {
      this.isLost = true
    })
  }

  /** Runs all that ends in this line. False: something failed. */
  async takeLine(line: string): Promise<boolean> {
    if (/^\s*\\/.test(line) && !this.splitter.isQuoted) return this.#obey(line)
    let isGood = true
    for (const text of this.splitter.push(`${line}\n`)) {
      isGood = (await this.run(text)) && isGood
      if (this.isLost || (!isGood && this.stopsOnError)) break
    }
    return isGood
  }

  async run(text: string): Promise<boolean> {
    this.isRunning = true
    try {
      const outcome = await runStatement(this.client, text, this.#output, this.isExpanded)
      if (outcome === 'lost') this.isLost = true
      return outcome === 'good'
    } finally {
      this.isRunning = false
    }
  }

  /** A whole script, up to its end, `\q`, the loss of the connection, or an error that is to stop it. */
  async runScript(lines: AsyncIterable<string>): Promise<number> {
    let isGood = true
    for await (const line of lines) {
      isGood = await this.takeLine(line)
      if (this.isLost) return exitCodes.lost
      if (!isGood && this.stopsOnError) return exitCodes.stopped
      if (this.hasQuit) return exitCodes.good
    }
    const rest = this.splitter.rest()
    if (rest !== '') isGood = await this.run(rest)
    if (this.isLost) return exitCodes.lost
    return !isGood && this.stopsOnError ? exitCodes.stopped : exitCodes.good
  }

  async #obey(line: string): Promise<boolean> {
    const { out, errors } = this.#output
    const wish = readBackslash(line)
    switch (wish.kind) {
      case 'quit':
        this.hasQuit = true
        return true
      case 'reset':
        this.splitter.reset()
        return true
      case 'expand':
        this.isExpanded = !this.isExpanded
        out.write(`Expanded display is ${this.isExpanded ? 'on' : 'off'}.\n`)
        return true
      case 'stopOnError':
        this.stopsOnError = wish.isOn
        return true
      case 'help':
        out.write(backslashHelp)
        return true
      case 'run':
        return this.run(wish.text)
      case 'unknown':
        errors.write(
          `invalid command \\${wish.name}: this prompt knows those that \\? lists; psql has more.\n`,
        )
        return false
    }
  }
}

function said(error: Error): Said {
  const { message, severity, code, detail, hint } = error as Error & Partial<Said>
  return { message, code, detail, hint, ...(severity && { severity }) }
}
