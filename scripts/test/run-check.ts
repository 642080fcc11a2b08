import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describeDuration, emptyTally, indent, paint, type Report } from './tally.ts'

interface Check {
  readonly name: string
  /** The package, the name of its program, and the arguments. */
  readonly command: readonly [packageName: string, program: string, ...args: string[]]
}

/** One check counts as one test. What it printed is shown when it fails. */
export async function runCheck({ name, command }: Check, signal: AbortSignal): Promise<Report> {
  const [packageName, program, ...args] = command
  const startedAt = performance.now()
  const child = spawn(process.execPath, [findProgram(packageName, program), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    signal,
  })
  const output: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => output.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => output.push(chunk))
  child.on('error', (error) => output.push(Buffer.from(`${error.message}\n`)))
  const [code] = await once(child, 'close')

  const duration = paint('dim', `· ${describeDuration(performance.now() - startedAt)}`)
  if (code === 0)
    return { text: `${paint('green', '✓')} ${name} ${duration}`, tally: { ...emptyTally, passed: 1 } }
  const text = `${paint('red', '✗')} ${name} ${duration}\n${indent(Buffer.concat(output).toString().trimEnd())}`
  return { text, tally: { ...emptyTally, failed: 1 } }
}

function findProgram(packageName: string, program: string): string {
  const folder = path.resolve('node_modules', packageName)
  const { bin } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'))
  return path.join(folder, bin[program])
}
