import pino from 'pino'
import { prepareDataDir } from '../db/data-directory.ts'
import { listPending } from '../db/migrate.ts'
import { openStore } from '../db/store.ts'
import type { Settings } from '../settings.ts'
import { openSource } from './backup/open-source.ts'
import { type Command, readArgs } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { requireOwnDirectory } from './own-directory.ts'
import { showProgress } from './progress.ts'
import { currentSettings, report } from './surroundings.ts'

const options = { check: { type: 'boolean' }, json: { type: 'boolean' } } as const

export const migrate: Command = {
  name: 'migrate',
  summary: 'Bring the database up to date without running the service',
  help: `
Usage: masquerade migrate [--check]

Creates or updates the tables of the service's database and ends. 'serve' does the same when it starts; this is for
those who want it as a step of its own. Several at once are safe: they wait for one another. There is no way back: a version
refuses a database that a newer one has migrated, and says by which migration. Make a backup before an upgrade.

  --check   Lists what would be done, and changes nothing. Exit code 4: something would be.`,
  options,
  async run(args) {
    const { values } = readArgs('migrate', args, { options })
    const settings = currentSettings()
    if (values.check) return check(values, settings)
    await prepareDataDir(settings.dataDir)
    await requireOwnDirectory(settings.dataDir)
    const progress = showProgress()
    try {
      const store = await openStore(settings, {
        log: pino({ level: 'silent' }),
        onProgress: progress.say,
        onFatal() {},
      })
      await store.close()
    } finally {
      progress.end()
    }
    report(values, { upToDate: true }, 'The database is up to date.\n')
    return 0
  },
}

/** Lists the migrations that the database lacks; throws for a database of a newer version. */
async function check(values: { readonly json?: boolean | undefined }, settings: Settings): Promise<number> {
  await using source = await openSource(settings)
  const pending = (await listPending(source.database.sql)).map(
    ({ number, name }) => `${String(number).padStart(4, '0')}-${name}`,
  )
  const words = pending.map((label) => `${label}\n`).join('')
  const upToDate = pending.length === 0
  report(
    values,
    { upToDate, pending },
    upToDate ? 'The database is up to date.\n' : `To be applied:\n${words}`,
  )
  return upToDate ? exitCodes.done : exitCodes.unsettled
}
