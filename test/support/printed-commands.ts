import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

/** The lines to paste that the screen of a start shows. */
export function listPrinted(screen: string): string[] {
  const lines = screen.split('\n')
  const [from, to] = [/^Try it/, /^Ctrl/].map((mark) => lines.findIndex((line) => mark.test(line)))
  return lines.slice((from ?? 0) + 1, to).filter((line) => line.trim() !== '')
}

/**
 * Runs a printed line in a shell, with the command line of this checkout in the place of npx. A curl is sent by fetch:
 * it need not be installed.
 */
export async function runPrinted(line: string, environment: Record<string, string> = {}) {
  const prelude = 'curl() { printf "%s\\n" "$@"; }; npx() { shift; "$NODE" "$MAIN" "$@"; }\n'
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('MASQUERADE_'))
  const { status, stdout, stderr } = spawnSync('/bin/sh', ['-c', prelude + line], {
    env: { ...Object.fromEntries(inherited), ...environment, NODE: process.execPath, MAIN: main },
    encoding: 'utf8',
  })
  if (status !== 0 || !line.trim().startsWith('curl')) return { ok: status === 0, text: stdout + stderr }
  const words = stdout.trim().split('\n')
  const authorization = words[1]?.replace('Authorization: ', '')
  const response = await fetch(words.at(-1) ?? '', {
    headers: words[0] === '-H' && authorization ? { authorization } : {},
  })
  return { ok: response.ok, text: stderr + (await response.text()) }
}
