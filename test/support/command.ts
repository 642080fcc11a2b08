import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

export interface Outcome {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Started {
  readonly child: ChildProcess
  /** Resolves with the output so far once it matches; rejects when the command ends without. */
  waitFor(pattern: RegExp): Promise<string>
  readonly ended: Promise<Outcome>
}

/** Starts the command line, of this checkout unless another is named, as a process of its own with no settings but those given. */
export function startCommand(
  args: readonly string[],
  environment: Record<string, string> = {},
  program = main,
): Started {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('MASQUERADE_'))
  const child = spawn(process.execPath, [program, ...args], {
    // Sample data and workers take their time: tests of these ask for them.
    env: {
      ...Object.fromEntries(inherited),
      MASQUERADE_DEMO: '0',
      MASQUERADE_GATEWAY_WORKERS: '1',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, stdout, stderr }))
  return {
    child,
    ended,
    waitFor: (pattern) =>
      new Promise((resolve, reject) => {
        const look = () => pattern.test(stdout) && resolve(stdout)
        child.stdout.on('data', look)
        look()
        ended.then(() => reject(new Error(`ended without ${pattern}: ${stdout}${stderr}`)))
      }),
  }
}

export async function runCommand(
  args: readonly string[],
  environment?: Record<string, string>,
  program?: string,
): Promise<Outcome> {
  return startCommand(args, environment, program).ended
}
