import { rm } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import type { Logger } from 'pino'
import { prepareDataDir } from '../db/data-directory.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import type { Service } from '../main.ts'
import { ensurePortal } from '../portal/build-portal.ts'
import { type Command, readArgs } from './command.ts'
import { openLog } from './log.ts'
import { requireOwnDirectory } from './own-directory.ts'
import { showProgress } from './progress.ts'
import { describePlace, writeRunFile } from './run-file.ts'
import { renderScreen } from './screen.ts'
import { currentSettings, report } from './surroundings.ts'

const options = { json: { type: 'boolean' } } as const

export const serve: Command = {
  name: 'serve',
  summary: 'Run the service (npm start does the same)',
  help: `
Usage: masquerade serve [--json]

Runs the service in the foreground until it gets SIGINT (Ctrl+C) or SIGTERM; it then finishes the requests under way
and stops its database. After SIGTERM it first goes on serving for MASQUERADE_DRAIN_SECONDS while /readyz is 503, so
that balancers send clients elsewhere. Without MASQUERADE_DATABASE_URL it brings its own PostgreSQL, with everything it
keeps in the data directory. The log is JSON on standard error, or in masquerade.log in the data directory when standard
error is a terminal. Settings are environment variables: docs/settings.md.`,
  options,
  async run(args) {
    const { values } = readArgs('serve', args, { options })
    const settings = currentSettings()
    await prepareDataDir(settings.dataDir)
    await requireOwnDirectory(settings.dataDir)
    // Loaded here: the other commands need not wait for the whole service.
    const { startService } = await import('../main.ts')
    const { log, file } = openLog(settings)
    const progress = showProgress()
    const leave = Promise.withResolvers<void>()
    const stop = Promise.withResolvers<OperatorError | null>()
    process.on('SIGTERM', () => leave.resolve())
    // An operator at a terminal does not wait.
    for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => stop.resolve(null))

    let service: Service
    let portalFolder: string | undefined
    let runFile = ''
    try {
      portalFolder = await findPortal(log, progress.say)
      service = await startService({
        settings,
        log,
        ...(portalFolder !== undefined && { portalFolder }),
        onProgress: progress.say,
        onOpen: async (opened) => {
          runFile = await writeRunFile(settings.dataDir, opened)
        },
        onFatal: (error) => stop.resolve(new OperatorError(error.message, { cause: error })),
      })
    } finally {
      progress.end()
    }
    report(
      values,
      describePlace(service),
      await renderScreen(settings, service, file, portalFolder !== undefined),
    )
    log.info({ httpPort: service.listeners.httpPort, httpsPort: service.listeners.httpsPort }, 'ready')

    const drained = leave.promise.then(async () => {
      log.info({ seconds: settings.drainSeconds }, 'draining')
      service.drain()
      await wait(settings.drainSeconds * 1000, undefined, { ref: false })
      return null
    })
    const fatal = await Promise.race([stop.promise, drained])
    log.info({ reason: fatal?.message ?? 'signal' }, 'stopping')
    await service.stop()
    await rm(runFile, { force: true })
    log.info('stopped')
    if (fatal) throw fatal
    return 0
  },
}

/** A portal that cannot be built must not keep the service from enforcing masks. */
async function findPortal(log: Logger, onProgress: (step: string) => void): Promise<string | undefined> {
  try {
    return await ensurePortal(onProgress)
  } catch (err) {
    log.error({ err }, 'the portal is left out')
    return undefined
  }
}
