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
  surroundings().stdout.write(text)
}

export function warn(text: string): void {
  surroundings().stderr.write(text)
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
