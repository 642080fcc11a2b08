import { OperatorError } from '../kernel/operator-error.ts'
import { isUuid } from '../kernel/uuid.ts'
import type { Settings } from '../settings.ts'
import type { GatewayService } from './gateway-place.ts'
import { currentToken, signIn } from './login.ts'
import { warn } from './surroundings.ts'

export interface GatewayLogin {
  readonly user: string
  /** Undefined: a role of the database, whose password is asked for. */
  readonly password?: string
}

/**
 * The user name and password for the gateway. A token for another user comes from that user's sign-in, or is signed
 * with the key of this data directory's service.
 */
export async function chooseLogin(
  settings: Settings,
  service: GatewayService,
  as: string | undefined,
): Promise<GatewayLogin> {
  const { session } = service
  if (as === undefined && !session)
    throw new OperatorError(
      `Not signed in to ${service.url}. Run 'masquerade login', or name a user with --as.`,
    )
  if (session && (as === undefined || isSame(as, session.userPrincipalName)))
    return { user: session.userPrincipalName, password: await currentToken() }
  const user = as ?? ''
  if (isUuid(user))
    throw new OperatorError(
      '--as takes a user or a role. An application logs in with a token of its own: docs/gateway.md says how.',
      { exitCode: 2 },
    )
  if (!service.isOwn)
    return user.includes('@') ? { user, password: await askToSignIn(service, user) } : { user }
  const { readSamplePassword, signToken } = await import('./own-service.ts')
  const password = user.includes('@') ? await signToken(settings, user) : readSamplePassword(settings, user)
  return { user, ...(password !== undefined && { password }) }
}

async function askToSignIn({ url, caFile }: GatewayService, user: string): Promise<string> {
  warn(`Sign in as ${user}.\n`)
  const session = await signIn(url, caFile, (text) => void warn(text))
  if (isSame(session.userPrincipalName, user)) return session.accessToken
  throw new OperatorError(`${session.userPrincipalName} signed in, and not ${user}.`)
}

function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}
