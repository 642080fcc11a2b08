import { PassThrough } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { countRows } from '../db/backup/dump-store.ts'
import { exportAudit, put } from '../db/export-audit.ts'
import { countOf } from '../kernel/count-of.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import { openSource } from './backup/open-source.ts'
import { readArgs, refuseUse } from './command.ts'
import { readTenant } from './operator.ts'
import { openOutput, type Sink } from './output-file.ts'
import { showProgress } from './progress.ts'
import { readTime } from './read-time.ts'
import { currentSettings, report } from './surroundings.ts'

export const auditExportOptions = {
  since: { type: 'string' },
  until: { type: 'string' },
  gzip: { type: 'boolean' },
  json: { type: 'boolean' },
} as const

export const auditExportHelp = `
'export' writes the whole audit, or that of a time, to a file as lines of JSON, the oldest entry first; '-' is the standard
output, and --gzip compresses it. It reads the database of the service itself, so it is for the user who can read the data
directory. The file appears, readable by you alone, when it is complete.`

/** `masquerade audit export`: entries of a time, or all, as lines of JSON. */
export async function exportAuditFile(args: readonly string[]): Promise<number> {
  const config = { options: auditExportOptions, allowPositionals: true } as const
  const { values, positionals } = readArgs('audit', args, config)
  const [file, ...more] = positionals
  if (file === undefined || more.length > 0) return refuseUse('audit', "Name one file to write, or '-'")
  if (file === '-' && values.json)
    return refuseUse('audit', "'-' and --json both write to the standard output")
  const timeOf = (name: 'since' | 'until') => {
    const text = values[name]
    return text === undefined ? undefined : readTime('audit', `--${name}`, text)
  }
  const period = { since: timeOf('since'), until: timeOf('until') }
  const settings = currentSettings()
  await using source = await openSource(settings)
  const tenantId = await readTenant(source.database, settings)
  const sink = await openOutput(file)
  const progress = showProgress()
  let [attempts, entries] = [0, 0]
  try {
    await source.database.transaction(async (tx) => {
      if (attempts++ > 0) throw new OperatorError('The database changed under the export. Start it again.')
      await store(sink, values.gzip ?? false, (take) =>
        exportAudit(tx, { tenantId, ...period }, (lines) => {
          entries += countRows(lines)
          progress.say(`written ${countOf(entries, 'entry', 'entries')}`)
          return take(lines)
        }),
      )
    })
    await sink.finish()
    progress.end()
    if (file !== '-') report(values, { file, entries }, `${file}: ${countOf(entries, 'entry', 'entries')}.\n`)
    return 0
  } catch (error) {
    progress.end()
    await sink.giveUp()
    throw error
  }
}

/** Lets `produce` write to the sink, compressed or as it is. */
async function store(
  sink: Sink,
  isCompressed: boolean,
  produce: (take: (lines: Buffer) => Promise<void>) => Promise<void>,
): Promise<void> {
  const plain = new PassThrough()
  const write = async (pieces: AsyncIterable<Buffer>) => {
    for await (const piece of pieces) await sink.write(piece)
  }
  const stored = isCompressed ? pipeline(plain, createGzip(), write) : pipeline(plain, write)
  stored.catch((error) => plain.destroy(error))
  await produce((lines) => put(plain, lines))
  plain.end()
  await stored
}
