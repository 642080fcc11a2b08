import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import type { GatewayLogin } from './gateway-login.ts'
import type { GatewayPlace } from './gateway-place.ts'

const bundles = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
]

/**
 * The environment that tells psql where to connect and as whom. The token goes there and not into the arguments: every
 * user of the machine can read a process's arguments.
 */
export function environmentFor(
  place: GatewayPlace,
  login: GatewayLogin,
  database: string,
): NodeJS.ProcessEnv {
  // A service of the user's own would count more than what follows.
  const { PGSERVICE: _service, PGHOSTADDR: _address, ...inherited } = process.env
  return {
    ...inherited,
    PGHOST: place.name,
    ...(place.host !== place.name && { PGHOSTADDR: place.host }),
    PGPORT: String(place.port),
    PGDATABASE: database,
    PGUSER: login.user,
    ...(login.password !== undefined && { PGPASSWORD: login.password }),
    PGSSLMODE: 'verify-full',
    PGSSLROOTCERT: place.caFile ?? bundles.find((file) => existsSync(file)) ?? 'system',
    // The gateway has two connections, and a login cannot be bound to both.
    PGCHANNELBINDING: 'disable',
    PGGSSENCMODE: 'disable',
  }
}

/** Runs psql with this terminal and returns its exit code; null: there is no psql. */
export async function runPsql(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<number | null> {
  const child = spawn('psql', args, { stdio: 'inherit', env: environment })
  // A terminal sends Ctrl+C to psql as well: there it ends a statement, and here it must end nothing.
  const passOn = (signal: NodeJS.Signals) => {
    if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal)
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const
  for (const signal of signals) process.on(signal, passOn)
  try {
    return await new Promise<number | null>((resolve, reject) => {
      child.once('error', (error: NodeJS.ErrnoException) =>
        error.code === 'ENOENT' ? resolve(null) : reject(error),
      )
      child.once('exit', (code, signal) => resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)))
    })
  } finally {
    for (const signal of signals) process.off(signal, passOn)
  }
}
