import { isIPv6 } from 'node:net'
import type { Service } from '../main.ts'
import type { Settings } from '../settings.ts'
import { version } from '../version.ts'

/** The one screen that `npm start` shows. */
export function renderScreen(
  settings: Settings,
  { listeners, store }: Service,
  logFile: string | undefined,
): string {
  const host = isIPv6(listeners.host) ? `[${listeners.host}]` : listeners.host
  const http = `http://${host}:${listeners.httpPort}`
  const https = `https://${host}:${listeners.httpsPort}`
  const rows: [string, string][] = [
    ['HTTP', `${http}   (API documentation: ${http}/docs)`],
    [
      'HTTPS',
      `${https}   ${listeners.ca ? '(certificate to trust: npx masquerade ca)' : '(your own certificate)'}`,
    ],
    ['Database', store.description],
    ['Data', settings.dataDir],
    ...(logFile ? [['Log', logFile] satisfies [string, string]] : []),
  ]
  return `
Masquerade ${version} is ready.

${rows.map(([name, value]) => `  ${name.padEnd(9)} ${value}`).join('\n')}

Try it:
  curl ${http}/readyz

Ctrl+C stops it.
`
}
