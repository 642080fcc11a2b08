import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { passwordFileName } from '../directory/first-start/bootstrap.ts'
import { bracketHost, reachableAddress } from '../kernel/network.ts'
import { pathPrefix } from '../kernel/surface.ts'
import type { Service } from '../main.ts'
import { readShopAccess } from '../sample/shop.ts'
import type { Settings } from '../settings.ts'
import { version } from '../version.ts'

/** The one screen that `npm start` shows. */
export function renderScreen(settings: Settings, service: Service, logFile: string | undefined): string {
  const { listeners, store, administrator } = service
  const host = bracketHost(listeners.host)
  const http = `http://${host}:${listeners.httpPort}`
  const https = `https://${host}:${listeners.httpsPort}`
  const gateway = `postgresql://${host}:${service.gateway.port}`
  const rows: [string, string][] = [
    ['HTTP', `${http}   (API documentation: ${http}/docs)`],
    [
      'HTTPS',
      `${https}   ${listeners.ca ? '(certificate to trust: npx masquerade ca)' : '(your own certificate)'}`,
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

Try it:
  curl ${settings.emulator ? '' : `-H "Authorization: Bearer $(${command(settings, 'token --admin')})" `}${http}${pathPrefix.directory}/organization
${describeShop(settings, `${bracketHost(reachableAddress(listeners.host))}:${service.gateway.port}`)}
Ctrl+C stops it.
`
}

/** Lines to paste: the same query with other eyes, through the gateway. */
function describeShop(settings: Settings, place: string): string {
  const shop = readShopAccess(settings.dataDir)
  if (!shop) return ''
  const query = `-c 'select first_name, email, ssn from public.customers limit 3'`
  const person = (name: string) =>
    `  ${command(settings, `psql --as ${name}@${settings.tenantDomain} ${query}`)}\n`
  const role = `  psql 'postgresql://analyst:${shop.analyst}@${place}/shop' ${query}\n`
  return person('noor') + person('maren') + role
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
  return `${setting}npx masquerade ${text}`
}
