import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { findActiveUser } from '../directory/accounts/find-active-user.ts'
import { passwordFileName } from '../directory/first-start/bootstrap.ts'
import { bracketHost } from '../kernel/network.ts'
import { pathPrefix } from '../kernel/surface.ts'
import type { Service } from '../main.ts'
import { listBoundNames } from '../masking/binding/find-bound.ts'
import { sampleReaders, shopNames } from '../sample/shop.ts'
import type { Settings } from '../settings.ts'
import { version } from '../version.ts'
import { ownCommand } from './invocation.ts'

/** The one screen that `npm start` shows. It holds no password, and every command on it works as it stands. */
export async function renderScreen(
  settings: Settings,
  service: Service,
  logFile: string | undefined,
  hasPortal: boolean,
): Promise<string> {
  const { listeners, store, administrator } = service
  const host = bracketHost(listeners.host)
  const http = `http://${host}:${listeners.httpPort}`
  const https = `https://${host}:${listeners.httpsPort}`
  const gateway = `postgresql://${host}:${service.gateway.port}`
  const rows: [string, string][] = [
    ...(hasPortal ? [['Portal', `${http}/   (open it in a browser and sign in)`] as const] : []),
    ['HTTP', `${http}   (API documentation: ${http}/docs)`],
    [
      'HTTPS',
      `${https}   ${listeners.ca ? `(certificate to trust: ${command(settings, 'ca')})` : '(your own certificate)'}`,
    ],
    ['Gateway', `${gateway}   (any PostgreSQL client sees masked data here)`],
    ...(administrator ? [['Sign in', describeSignIn(settings, administrator)] as const] : []),
    ['Database', store.description],
    ['Data', settings.dataDir],
    ...(logFile ? [['Log', logFile] as const] : []),
  ].map(([name, value]) => [String(name), String(value)])
  return `
Masquerade ${version} is ready.
${settings.emulator ? emulatorWarning : ''}
${rows.map(([name, value]) => `  ${name.padEnd(9)} ${value}`).join('\n')}

Try it${describeShell(settings)}:
  ${describeRequest(settings, service)}
${await describeShop(settings, service)}
Ctrl+C stops it.
`
}

/** Settings that hold secrets, or name files of secrets, are not repeated: the commands read them from their shell. */
function describeShell({ databaseUrl, secretKeyFile, emulator }: Settings): string {
  const names = [
    ...(databaseUrl === undefined ? [] : ['MASQUERADE_DATABASE_URL']),
    ...(secretKeyFile === undefined ? [] : ['MASQUERADE_SECRET_KEY_FILE']),
  ]
  return names.length === 0 || emulator ? '' : `, in a shell with ${names.join(' and ')} set as here`
}

/** Without the administrator of the first start there is no `token --admin`. */
function describeRequest(settings: Settings, { listeners, administrator }: Service): string {
  const path = `${listeners.httpOrigin}${pathPrefix.directory}/organization`
  if (settings.emulator) return `curl ${path}`
  if (!administrator) return `curl ${listeners.httpOrigin}/readyz`
  return `curl -H "Authorization: Bearer $(${command(settings, 'token --admin')})" ${path}`
}

/** Lines to paste while the sample is there: one query with two pairs of eyes, through the gateway. */
async function describeShop(settings: Settings, { store }: Service): Promise<string> {
  const { database, tenantId, server } = store
  if (!server) return ''
  const bound = await listBoundNames(database.sql, tenantId)
  const shop = bound.find(({ parts }) => parts.join() === shopNames.join())?.name
  const people = await Promise.all(sampleReaders.map((id) => findActiveUser(database.sql, tenantId, { id })))
  if (shop === undefined) return ''
  const place = bound.length === 1 ? '' : `${shop} `
  const query = `-c 'select first_name, email, ssn from public.customers limit 3'`
  return people
    .filter((person) => person !== undefined)
    .map(({ userPrincipalName: name }) => `  ${command(settings, `psql --as ${name} ${place}${query}`)}\n`)
    .join('')
}

const emulatorWarning = `
  ******************************************************************************
  *  EMULATOR MODE: tokens are not verified, and a request without one is the  *
  *  administrator's. For tests of your own software; never with real data.    *
  ******************************************************************************
`

function describeSignIn(settings: Settings, { userPrincipalName }: { userPrincipalName: string }): string {
  const file = join(settings.dataDir, passwordFileName)
  return existsSync(file) ? `${userPrincipalName}   (first password: ${file})` : userPrincipalName
}

/** As it has to be typed in another terminal, which does not know where the data is. */
function command({ dataDir }: Settings, text: string): string {
  const setting =
    dataDir === resolve('data') ? '' : `MASQUERADE_DATA_DIR='${dataDir.replaceAll("'", "'\\''")}' `
  return `${setting}${ownCommand} ${text}`
}
