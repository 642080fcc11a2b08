import { isIP } from 'node:net'
import { domainToASCII } from 'node:url'
import { isEveryInterface } from '../kernel/network.ts'
import { OperatorError } from '../kernel/operator-error.ts'

const label = '[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?'
const hostPattern = new RegExp(`^(\\*\\.)?${label}(\\.${label})*$`)

/** The names by which this machine is reached without any setting. */
export function listOwnNames(machineName: string): string[] {
  const name = normalizeName(machineName)
  return [...new Set(['localhost', '127.0.0.1', '::1', ...(name ? [name] : [])])]
}

/** Addresses that mean "every address", such as 0.0.0.0, name nothing a client could ask for. */
export function listConfiguredNames(hostNames: readonly string[]): string[] {
  const names = hostNames.map((hostName) => {
    const name = normalizeName(hostName)
    if (name) return name
    throw new OperatorError(
      `MASQUERADE_TLS_HOST_NAMES: '${hostName}' is neither a host name nor an IP address.`,
    )
  })
  return [...new Set(names)].filter((name) => !isEveryInterface(name))
}

/** Undefined where a certificate cannot be for it. */
function normalizeName(text: string): string | undefined {
  const [address = ''] = text.replace(/^\[|\]$/g, '').split('%')
  if (isIP(address) === 4) return address
  if (isIP(address) === 6) return new URL(`http://[${address}]`).hostname.slice(1, -1)
  const wildcard = text.startsWith('*.') ? '*.' : ''
  const host = wildcard + domainToASCII(text.slice(wildcard.length)).replace(/\.$/, '')
  return host.length <= 253 && hostPattern.test(host) ? host : undefined
}
