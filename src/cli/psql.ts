import { resolve } from 'node:path'
import { OperatorError } from '../kernel/operator-error.ts'
import { type Command, readArgs } from './command.ts'
import { chooseDatabase } from './gateway-database.ts'
import { chooseLogin } from './gateway-login.ts'
import { findGateway } from './gateway-place.ts'
import { environmentFor, runPsql } from './run-psql.ts'
import { currentSettings } from './surroundings.ts'
import { copyCa } from './trust-ca.ts'

const options = {
  as: { type: 'string' },
  url: { type: 'string' },
  gateway: { type: 'string' },
  ca: { type: 'string' },
  command: { type: 'string', short: 'c', multiple: true },
  file: { type: 'string', short: 'f', multiple: true },
} as const

export const psql: Command = {
  name: 'psql',
  summary: 'Open psql through the gateway with a fresh token',
  help: `
Usage: masquerade psql [--as USER] [DATABASE] [-c COMMAND …] [-f FILE …] [-- PSQL-ARGUMENTS]

Connects as the person who is signed in ('masquerade login'). DATABASE is a bound database by its name, or by
server/database and so on; it may be left out where the service of this data directory has only one. The certificate of the gateway is verified.

  --as USER        Log in as another user. With a userPrincipalName: an operator who can read the data directory gets a
                   token for that user, signed with the service's key and audited; any other caller is asked to sign in
                   as that user. A name without '@': a role of the database, with its password (PGPASSWORD, or psql asks).
  --url URL        Which service, unless the one that was signed in to, or the one of this data directory.
  --gateway PLACE  Its gateway, HOST or HOST:PORT. Unless said, that of this data directory, or port 6432 of the URL's host.
  --ca FILE        PEM file of the CA to trust.
  -c COMMAND       Run this and end. May be given several times, also with -f.
  -f FILE          Run this file and end; '-' is the standard input.

Arguments behind '--' are psql's own. Where psql is not installed, -c still works and prints tables; everything else needs
psql: postgresql-client on Debian and Ubuntu, postgresql on Fedora, libpq of Homebrew on macOS.

Exit codes are psql's: 0 done, 1 failed, 2 no connection (or wrong use), 3 an error in a script with ON_ERROR_STOP.`,
  options,
  async run(args) {
    const cut = args.indexOf('--')
    const own = cut < 0 ? args : args.slice(0, cut)
    const rest = cut < 0 ? [] : args.slice(cut + 1)
    const { values, positionals, tokens } = readArgs('psql', own, {
      options,
      allowPositionals: true,
      tokens: true,
    })
    const [named, ...more] = positionals
    if (more.length > 0)
      throw new OperatorError(
        "Name one database; what psql itself is to get stands behind '--'. See 'masquerade help psql'.",
        { exitCode: 2 },
      )
    const settings = currentSettings()
    await using ca = values.ca === undefined ? null : await copyCa(resolve(values.ca))
    const wishes = { ...values, ca: ca?.path, prefersOwn: values.as !== undefined }
    const service = await findGateway(settings, wishes)
    const database = await chooseDatabase(settings, service.isOwn, named)
    const login = await chooseLogin(settings, service, values.as)
    const wanted = tokens.flatMap((token) =>
      token.kind === 'option' && (token.name === 'command' || token.name === 'file')
        ? [`--${token.name}`, token.value ?? '']
        : [],
    )
    const code = await runPsql([...wanted, ...rest], environmentFor(service.place, login, database))
    if (code !== null) return code
    const { runStatements } = await import('./run-statements.ts')
    return runStatements([...wanted, ...rest], service.place, login, database)
  },
}
