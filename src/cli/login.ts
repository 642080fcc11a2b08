import { hostname } from 'node:os'
import { resolve } from 'node:path'
import * as oidc from 'openid-client'
import { firstPartyApplications } from '../auth/first-party.ts'
import { publicOrigin } from '../auth/identity.ts'
import { isSafeUrl } from '../kernel/network.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import type { Settings } from '../settings.ts'
import { type Command, readArgs } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { ownCaName, readOwnFile } from './own-file.ts'
import { isOwnAddress, readRunFile } from './run-file.ts'
import { keepCa, readSession, type Session, writeSession } from './session.ts'
import { currentSettings, print, report, warn } from './surroundings.ts'
import { trustCa } from './trust-ca.ts'

const scope = 'openid profile offline_access .default'
/** A token that is about to end would end on its way. */
const renewBeforeMs = 2 * 60 * 1000

const options = {
  url: { type: 'string' },
  ca: { type: 'string' },
  token: { type: 'boolean' },
  json: { type: 'boolean' },
} as const

export const login: Command = {
  name: 'login',
  summary: 'Sign in as a user of the directory',
  help: `
Usage: masquerade login [--url URL] [--ca FILE] [--json]
       masquerade login --token

Shows an address and a code: open the address in a browser, enter the code and sign in. The tokens are kept in
~/.config/masquerade (or under XDG_CONFIG_HOME), readable by you alone, until 'masquerade logout'.

  --url URL    Where the service is. The one of this data directory unless said.
  --ca FILE    PEM file of the CA to trust; 'masquerade ca' prints the service's own, which is found by itself on the
               machine where the service runs.
  --token      Print an access token of the person who is signed in, renewed when it has to be, and nothing else.`,
  options,
  async run(args) {
    const { values } = readArgs('login', args, { options })
    if (values.token) {
      const token = await currentToken()
      report(values, { token }, `${token}\n`)
      return 0
    }
    const settings = currentSettings()
    const url = values.url ?? (await readRunFile(settings.dataDir))?.origin ?? publicOrigin(settings)
    const isOwn = values.url === undefined || isOfThisMachine(settings, url)
    const ownCa = values.ca || !isOwn ? null : await readOwnFile(settings.dataDir, ownCaName)
    const say = values.json ? warn : print
    // Read once, and before: another user may replace the file while the person signs in.
    const namedCa = values.ca ? trustCa(resolve(values.ca)) : undefined
    const session = await signIn(url.replace(/\/$/, ''), ownCa?.path ?? null, say)
    await writeSession(namedCa === undefined ? session : { ...session, caFile: await keepCa(namedCa) })
    const { userPrincipalName } = session
    report(values, { url: session.url, userPrincipalName }, `Signed in as ${userPrincipalName}.\n`)
    return 0
  },
}

/** The CA of a data directory is for the service of this machine: it vouches for no other that is named. */
function isOfThisMachine(settings: Settings, url: string): boolean {
  const { hostname: host = '', origin = '' } = URL.parse(url) ?? {}
  const names = [hostname(), ...settings.tlsHostNames].map((name) => name.toLowerCase())
  return isOwnAddress(host) || names.includes(host) || origin === publicOrigin(settings)
}

/** Shows where to sign in and waits for it. Nothing is kept. */
export async function signIn(
  url: string,
  caFile: string | null,
  say: (text: string) => void = print,
): Promise<Session> {
  const config = await findService(url, caFile)
  try {
    const started = await oidc.initiateDeviceAuthorization(config, { scope })
    say(`Open ${started.verification_uri}\nand enter the code ${started.user_code}\n\nWaiting …\n`)
    const tokens = await oidc.pollDeviceAuthorizationGrant(config, started)
    return describeSession({ url, caFile, userPrincipalName: '' }, tokens)
  } catch (cause) {
    throw explain(cause, url)
  }
}

function describeSession(
  known: Pick<Session, 'url' | 'caFile' | 'userPrincipalName'>,
  tokens: oidc.TokenEndpointResponse & oidc.TokenEndpointResponseHelpers,
): Session {
  const name = tokens.claims()?.preferred_username
  return {
    ...known,
    userPrincipalName: typeof name === 'string' ? name : known.userPrincipalName,
    accessToken: tokens.access_token,
    expiresAtMs: Date.now() + (tokens.expiresIn() ?? 0) * 1000,
    refreshToken: tokens.refresh_token ?? null,
  }
}

export async function currentToken(): Promise<string> {
  const session = await readSession()
  if (!session)
    throw new OperatorError("Not signed in. Run 'masquerade login'.", { exitCode: exitCodes.denied })
  if (session.expiresAtMs - Date.now() > renewBeforeMs) return session.accessToken
  if (session.refreshToken === null)
    throw new OperatorError("The sign-in has expired. 'masquerade login' does it again.", {
      exitCode: exitCodes.denied,
    })
  const config = await findService(session.url, session.caFile)
  try {
    const tokens = await oidc.refreshTokenGrant(config, session.refreshToken)
    const renewed = describeSession(session, tokens)
    await writeSession({ ...renewed, refreshToken: renewed.refreshToken ?? session.refreshToken })
    return renewed.accessToken
  } catch (cause) {
    throw explain(cause, session.url)
  }
}

/** The service's own description of itself, over HTTPS or on this machine. */
export async function findService(url: string, caFile: string | null): Promise<oidc.Configuration> {
  if (!isSafeUrl(url))
    throw new OperatorError(`'${url.slice(0, 200)}' is not an https address.`, { exitCode: 2 })
  if (caFile !== null) trustCa(caFile)
  try {
    const response = await fetch(`${url}/.well-known/openid-configuration`, {
      signal: AbortSignal.timeout(10_000),
      redirect: 'error',
    })
    if (!response.ok) throw new Error(`status ${response.status}`)
    const metadata = (await response.json()) as oidc.ServerMetadata
    const { appId } = firstPartyApplications.cli
    const config = new oidc.Configuration(metadata, appId, undefined, oidc.None())
    if (url.startsWith('http:')) oidc.allowInsecureRequests(config)
    return config
  } catch (cause) {
    throw explain(cause, url)
  }
}

function explain(cause: unknown, url: string): OperatorError {
  const { error, error_description: description } = cause as { error?: string; error_description?: string }
  if (error === 'access_denied') return new OperatorError('The sign-in was cancelled.', { cause })
  if (error === 'expired_token') return new OperatorError('The code expired before a sign-in.', { cause })
  if (error === 'invalid_grant')
    return new OperatorError("The sign-in is over. 'masquerade login' does it again.", {
      exitCode: exitCodes.denied,
      cause,
    })
  if (error) return new OperatorError(`The service refused: ${description ?? error}.`, { cause })
  const reason = (cause as { cause?: { code?: string } }).cause?.code ?? (cause as Error).message
  const hint = /CERT|SELF_SIGNED|UNABLE_TO/.test(reason) ? ' Name its CA with --ca.' : ''
  return new OperatorError(`There is no service at ${url} (${reason}).${hint}`, {
    exitCode: exitCodes.unreachable,
    cause,
  })
}
