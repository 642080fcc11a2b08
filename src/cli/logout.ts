import * as oidc from 'openid-client'
import { OperatorError } from '../kernel/operator-error.ts'
import { type Command, readArgs } from './command.ts'
import { findService } from './login.ts'
import { deleteCa, deleteSession, readSession } from './session.ts'
import { report, warn } from './surroundings.ts'

const options = { json: { type: 'boolean' } } as const

export const logout: Command = {
  name: 'logout',
  summary: 'Forget who signed in with login',
  help: `
Usage: masquerade logout

Tells the service that the sign-in is over and deletes what was kept of it. The last access token lives until it
expires, within the hour.`,
  options,
  async run(args) {
    const { values } = readArgs('logout', args, { options })
    const session = await readSession()
    if (!session) {
      report(values, { signedOut: null }, 'Not signed in.\n')
      return 0
    }
    await deleteSession()
    const told =
      session.refreshToken === null || (await revoke(session.url, session.caFile, session.refreshToken))
    // The service could not be told without it.
    await deleteCa()
    const { userPrincipalName } = session
    report(values, { signedOut: userPrincipalName, told }, `Signed out ${userPrincipalName}.\n`)
    if (!told) warn('masquerade: the service could not be told; it forgets within two weeks.\n')
    return 0
  },
}

async function revoke(url: string, caFile: string | null, refreshToken: string): Promise<boolean> {
  try {
    const config = await findService(url, caFile)
    await oidc.tokenRevocation(config, refreshToken, { token_type_hint: 'refresh_token' })
    return true
  } catch (error) {
    if (error instanceof OperatorError || error instanceof Error) return false
    throw error
  }
}
