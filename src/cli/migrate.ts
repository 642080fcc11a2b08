import pino from 'pino'
import { prepareDataDir } from '../db/data-directory.ts'
import { openStore } from '../db/store.ts'
import { type Command, readArgs } from './command.ts'
import { showProgress } from './progress.ts'
import { currentSettings, report } from './surroundings.ts'

const options = { json: { type: 'boolean' } } as const

export const migrate: Command = {
  name: 'migrate',
  summary: 'Bring the database up to date without running the service',
  help: `
Usage: masquerade migrate

Creates or updates the tables of the service's database and ends. 'serve' does the same when it starts; this is for
those who want it as a step of its own. Several at once are safe: they wait for one another.`,
  options,
  async run(args) {
    const { values } = readArgs('migrate', args, { options })
    const settings = currentSettings()
    await prepareDataDir(settings.dataDir)
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
