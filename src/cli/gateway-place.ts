import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { isLoopbackHost, reachableAddress } from '../kernel/network.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import type { Settings } from '../settings.ts'
import { startCommand } from './invocation.ts'
import { type OwnFile, ownCaName, readOwnFile } from './own-file.ts'
import { type FoundRun, type RunFile, readRunFile } from './run-file.ts'
import { readSession, type Session } from './session.ts'

/** The gateway to connect to, and how to know that it is the right one. */
export interface GatewayPlace {
  /** The name that its certificate must be valid for. */
  readonly name: string
  /** Where it is: the name, or an address in its place. */
  readonly host: string
  readonly port: number
  /** PEM file of the authority to trust; null: those of the system. */
  readonly caFile: string | null
}

/** The service that the gateway belongs to. */
export interface GatewayService {
  readonly place: GatewayPlace
  /** The sign-in to this service, if there is one. */
  readonly session: Session | null
  /** True for the service of this data directory, which the operator can read. */
  readonly isOwn: boolean
  /** Where people sign in to it. */
  readonly url: string
  readonly caFile: string | null
}

interface Wishes {
  readonly url?: string | undefined
  readonly gateway?: string | undefined
  readonly ca?: string | undefined
  /**
   * A user other than the signed-in one is wanted. The service of this data directory, if it runs, can sign a token for
   * any user.
   */
  readonly prefersOwn: boolean
}

const usualPort = 6432

/** The service that was named, or the one that the user signed in to, or the one of this data directory. */
export async function findGateway(settings: Settings, wishes: Wishes): Promise<GatewayService> {
  const signedIn = await readSession()
  const { url: sentUrl, ca } = wishes
  const url = sentUrl?.replace(/\/+$/, '')
  const isOther = url !== undefined || (signedIn !== null && !wishes.prefersOwn)
  const { run, own } = await readOwn(settings).catch((error: unknown) => {
    // A person who means another service does not need a data directory that is not believed.
    if (isOther && error instanceof OperatorError) return noService
    throw error
  })
  const isOwnSession =
    signedIn !== null &&
    run !== null &&
    own !== null &&
    isAt(run, signedIn.url) &&
    provesItself(own, signedIn)
  const isOwn =
    run !== null &&
    (url
      ? isAt(run, url) && (isOwnSession || signedIn?.url !== url)
      : isOwnSession || signedIn === null || wishes.prefersOwn)
  const given = ca === undefined ? null : resolve(ca)
  if (run && own && isOwn) {
    const place = wishes.gateway ? readPlace(wishes.gateway) : ownPlace(run)
    const name = wishes.gateway ? undefined : own.nameOf(place.name)
    const caFile = given ?? own.caFile
    const session = isOwnSession ? signedIn : null
    return {
      place: { ...place, ...(name && { name }), caFile },
      session,
      isOwn: true,
      url: run.origin,
      caFile,
    }
  }
  const session = signedIn && (url === undefined || url === signedIn.url) ? signedIn : null
  const origin = url ?? session?.url
  if (origin === undefined)
    throw new OperatorError(
      `No service runs in ${settings.dataDir}. Start it with '${startCommand}', or sign in to another: masquerade login --url URL.`,
    )
  const caFile = given ?? session?.caFile ?? null
  const place = readPlace(wishes.gateway ?? `${hostOf(origin)}:${usualPort}`)
  return { place: { ...place, caFile }, session, isOwn: false, url: origin, caFile }
}

interface OwnService {
  readonly run: FoundRun | null
  readonly own: OwnTrust | null
}

const noService: OwnService = { run: null, own: null }

async function readOwn(settings: Settings): Promise<OwnService> {
  const run = await readRunFile(settings.dataDir)
  return run ? { run, own: await readOwnTrust(settings) } : noService
}

function isAt({ origin, httpPort, httpsPort }: RunFile, url: string): boolean {
  const { hostname = '', port = '' } = URL.parse(url) ?? {}
  const isLoopback = isLoopbackHost(hostname)
  return url === origin || (isLoopback && (port === String(httpPort) || port === String(httpsPort)))
}

/** Its certificate is for `localhost` wherever it listens; libpq before 15 takes no certificate for an address. */
function ownPlace({ host, hostName, gatewayPort }: FoundRun): Omit<GatewayPlace, 'caFile'> {
  if (gatewayPort === undefined)
    throw new OperatorError('The service that runs is an older one: start it again, or say --gateway.')
  const address = reachableAddress(host)
  const name = hostName ?? (isLoopbackHost(address) ? 'localhost' : address)
  return { name, host: address, port: gatewayPort }
}

function readPlace(text: string): Omit<GatewayPlace, 'caFile'> {
  const [, bracketed, plain, port] = /^(?:\[([0-9a-f:.]+)\]|([^:[\]/\s]+))(?::(\d{1,5}))?$/i.exec(text) ?? []
  const host = bracketed ?? plain
  if (host === undefined || Number(port ?? usualPort) > 65_535)
    throw new OperatorError(`'${text.slice(0, 200)}' is not a gateway: it must be HOST or HOST:PORT.`, {
      exitCode: 2,
    })
  return { name: host, host, port: Number(port ?? usualPort) }
}

function hostOf(url: string): string {
  return URL.parse(url)?.hostname || 'localhost'
}

interface OwnTrust {
  /** Null: the CAs of the system. */
  readonly caFile: string | null
  /** The CA of the data directory, if it is the one to trust. */
  readonly ca: OwnFile | null
  /** The operator's settings name the certificate, and not the data directory. */
  readonly isOfSettings: boolean
  /** The name to verify in place of `name`, if it is another. */
  nameOf(name: string): string | undefined
}

/**
 * The CA to trust for the service of this data directory: its own CA, or the operator's certificate if that is
 * self-signed.
 */
async function readOwnTrust({ dataDir, tlsCertFile }: Settings): Promise<OwnTrust> {
  if (tlsCertFile === undefined) {
    const ca = await readOwnFile(dataDir, ownCaName)
    return { caFile: ca?.path ?? null, ca, isOfSettings: false, nameOf: () => undefined }
  }
  try {
    const certificate = new X509Certificate(readFileSync(tlsCertFile))
    const [, first] = /DNS:([^*,\s]+)(?:,|$)/.exec(certificate.subjectAltName ?? '') ?? []
    const isSelfSigned = certificate.checkIssued(certificate)
    const isFor = (name: string) => isIP(name) === 0 && certificate.checkHost(name) !== undefined
    return {
      caFile: isSelfSigned ? resolve(tlsCertFile) : null,
      ca: null,
      isOfSettings: true,
      nameOf: (name) => (isFor(name) && name !== 'localhost' ? name : first),
    }
  } catch (cause) {
    throw new OperatorError(`The certificate ${tlsCertFile} cannot be read.`, { cause })
  }
}

/**
 * A data directory from elsewhere, as of an archive, can name any service as its own. It gets the token of a sign-in only if the
 * gateway proves itself by what that sign-in trusts.
 */
function provesItself({ ca, isOfSettings }: OwnTrust, { caFile }: Session): boolean {
  if (isOfSettings) return true
  if (ca === null || caFile === null) return false
  try {
    return readFileSync(caFile, 'utf8') === ca.text
  } catch {
    return false
  }
}
