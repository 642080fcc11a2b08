import { AsyncLocalStorage } from 'node:async_hooks'
import type { Readable, Writable } from 'node:stream'
import { readSettings, type Settings } from '../settings.ts'

/** Streams and environment of a command: those of the process, unless a caller runs it with others. */
export interface Surroundings {
  readonly env: NodeJS.ProcessEnv
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly stdout: Writable & { readonly isTTY?: boolean }
  readonly stderr: Writable
  /** Aborted once the reader of the output has gone. */
  readonly outputClosed?: AbortSignal
}

const given = new AsyncLocalStorage<Surroundings>()

export function runWithin<T>(surroundings: Surroundings, run: () => Promise<T>): Promise<T> {
  return given.run(surroundings, run)
}

export function surroundings(): Surroundings {
  return given.getStore() ?? process
}

export function print(text: string): void {
  const { stdout } = surroundings()
  stdout.write(escapeControls(text, stdout.isTTY === true))
}

export function warn(text: string): void {
  surroundings().stderr.write(escapeControls(text, true))
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: all of them but tabs and line breaks
const commanding = /\r(?!\n)|[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g
const turning = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/**
 * Names and messages are data of others, which must not command the terminal. The escapes mean the same in strings of JSON
 * and YAML. Characters that turn text around matter to people alone: a file keeps them.
 */
function escapeControls(text: string, isForPeople: boolean): string {
  const asEscape = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
  const safe = text.replaceAll(commanding, asEscape)
  return isForPeople ? safe.replaceAll(turning, asEscape) : safe
}

/** Prints a result: as JSON where --json was said, else in words, which end with a line break or are empty. */
export function report(values: { readonly json?: boolean | undefined }, value: unknown, words: string): void {
  print(values.json ? `${JSON.stringify(value, null, 2)}\n` : words)
}

/** Prints what is not the result itself: beside a result as JSON it goes to standard error. */
export function announce(values: { readonly json?: boolean | undefined }, text: string): void {
  if (values.json) warn(text)
  else print(text)
}

export function currentSettings(): Settings {
  return readSettings(surroundings().env)
}

const closed = new AbortController()

/** Aborted once the reader of the output has gone: an endless command ends then. */
export function outputClosed(): AbortSignal {
  return surroundings().outputClosed ?? closed.signal
}

/**
 * Lets a command finish when its reader goes, as `head` does after some lines. Ending it at once could leave a change
 * half done.
 */
export function tolerateClosedOutput(): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
      closed.abort()
    })
}
