import { readHeader, readRecord, splitRecords } from './read-csv.ts'
import { type Entry, readEntry, readNamedEntry } from './read-line.ts'
import { splitLines } from './split-lines.ts'

/** A line of a file; reading it fails with a `Problem` where it says nothing that can be imported. */
export interface ReadLine {
  /** From 1. */
  readonly number: number
  read(): Entry
}

export async function* readJsonLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<ReadLine> {
  for await (const { number, text } of splitLines(chunks)) yield { number, read: () => readEntry(text) }
}

/** The first record names the columns. */
export async function* readCsvLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<ReadLine> {
  let header: readonly string[] | undefined
  for await (const record of splitRecords(chunks)) {
    if (header) {
      const columns = header
      yield { number: record.number, read: () => readNamedEntry(readRecord(columns, record)) }
      continue
    }
    header = readHeader(record)
  }
}
