import { issueOperatorToken } from '../issuer/operator-token.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import { isUuid } from '../kernel/uuid.ts'
import { readShopAccess } from '../sample/shop.ts'
import type { Settings } from '../settings.ts'
import type { GatewayService } from './gateway-place.ts'
import { currentToken, signIn } from './login.ts'
import { openOperatorAccess } from './operator.ts'
import { warn } from './surroundings.ts'

export interface GatewayLogin {
  readonly user: string
  /** Undefined: a role of the database, whose password is asked for. */
  readonly password?: string
}

const lifetimeSeconds = 3600

/**
 * The user name and password for the gateway. A token for another user comes from that user's sign-in, or is signed
 * with the service's key: an operator who can read the key may sign any token, and each is audited.
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
  if (!user.includes('@')) return { user, ...samplePassword(settings, service, user) }
  return {
    user,
    password: service.isOwn ? await signToken(settings, user) : await askToSignIn(service, user),
  }
}

/** The roles of the sample shop are for trying out: the data directory holds their passwords. */
function samplePassword(
  { dataDir }: Settings,
  { isOwn }: GatewayService,
  role: string,
): { password?: string } {
  const shop = isOwn ? readShopAccess(dataDir) : null
  return shop && (role === 'analyst' || role === 'auditor') ? { password: shop[role] } : {}
}

async function signToken(settings: Settings, userPrincipalName: string): Promise<string> {
  await using access = await openOperatorAccess(settings)
  return await issueOperatorToken(
    { ...access, sql: access.database.sql },
    {
      for: { kind: 'user', userPrincipalName, personal: false },
      permissions: ['user_impersonation'],
      lifetimeSeconds,
      audience: undefined,
    },
  )
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
