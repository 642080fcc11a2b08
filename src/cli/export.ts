import { exportDirectory } from '../directory/transfer/export-directory.ts'
import { countOf } from '../kernel/count-of.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import { type Command, readArgs } from './command.ts'
import { openOperatorAccess } from './operator.ts'
import { openOutput } from './output-file.ts'
import { showProgress } from './progress.ts'
import { currentSettings, outputClosed, report } from './surroundings.ts'

const flushLength = 256 * 1024

const options = { json: { type: 'boolean' } } as const

export const exportCommand: Command = {
  name: 'export',
  summary: 'Write users, groups, memberships and extensions to a file',
  help: `
Usage: masquerade export FILE
       masquerade export -

Writes the directory as JSON lines that 'masquerade import' reads, as of one moment. The order does not depend on the
time or the user of the export: two exports can be compared line by line. '-' is the standard output.
Passwords and secrets never leave the directory; deleted objects and the contents of mailboxes are not part of it, nor
are the objects that every installation creates by itself (the organization, the administrator of the first start, the
applications of the product).
The file appears, readable by you alone, when it is complete. It works for the user who can read the data directory,
while the database runs.`,
  options,
  async run(args) {
    const { values, positionals } = readArgs('export', args, { options, allowPositionals: true })
    const [file, ...more] = positionals
    if (file === undefined || more.length > 0)
      throw new OperatorError("Name one file to write, or '-'. See 'masquerade help export'.", {
        exitCode: 2,
      })
    await using access = await openOperatorAccess(currentSettings())
    const sink = await openOutput(file)
    const progress = showProgress()
    try {
      let attempts = 0
      const lines = await access.database.transaction(async (tx) => {
        if (attempts++ > 0) throw new OperatorError('The database changed under the export. Start it again.')
        let count = 0
        let waiting = ''
        for await (const line of exportDirectory(tx, access.tenantId)) {
          waiting += line
          if (++count % 1000 === 0) progress.say(`written ${count.toLocaleString('en')} lines`)
          if (waiting.length < flushLength) continue
          await sink.write(waiting)
          waiting = ''
          if (file === '-' && outputClosed().aborted) break
        }
        await sink.write(waiting)
        return count
      })
      await sink.finish()
      progress.end()
      if (file !== '-') report(values, { file, lines }, `${file}: exported ${countOf(lines, 'line')}.\n`)
      return 0
    } catch (error) {
      progress.end()
      await sink.giveUp()
      throw error
    }
  },
}
