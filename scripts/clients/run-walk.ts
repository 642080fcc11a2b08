import { spawn } from 'node:child_process'
import type { Walk } from './walks.ts'

export interface Walked {
  /** The packages that the walk used, with their versions, as the packages themselves tell them. */
  readonly versions: string
  readonly checks: number
  /** The last output of the walk, where it failed. */
  readonly complaint: string | undefined
}

/** `az` starts a program for each of its commands: on a busy machine that takes long. */
const longestMs = 40 * 60_000

/** Installs what a walk needs and runs it. It prints `ok …` for each check and `versions …` once. */
export async function runWalk(walk: Walk, environment: NodeJS.ProcessEnv): Promise<Walked> {
  const { program, args, variables = {} } = walk.prepare(environment)
  const child = spawn(program, args, {
    env: { ...process.env, ...environment, ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: longestMs,
  })
  let said = ''
  const listen = (chunk: Buffer) => {
    said += chunk.toString()
  }
  child.stdout.on('data', listen)
  child.stderr.on('data', listen)
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  const lines = said.split('\n')
  const { checks, versions } = (walk.read ?? readLines)(lines)
  const isWalked = code === 0 && versions !== '' && checks > 0
  const complaint = isWalked ? undefined : lines.filter(Boolean).slice(-40).join('\n') || `ended with ${code}`
  return { versions, checks, complaint }
}

function readLines(lines: readonly string[]): { checks: number; versions: string } {
  const told = lines.find((line) => line.startsWith('versions '))
  return {
    checks: lines.filter((line) => line.startsWith('ok ')).length,
    versions: told?.slice('versions '.length) ?? '',
  }
}
