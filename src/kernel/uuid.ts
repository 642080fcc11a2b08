/** Source of a regular expression for one UUID; match it with the flag `i`. */
export const uuidPattern = '[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}'

const whole = new RegExp(`^${uuidPattern}$`, 'i')
const ofAccount = new RegExp(`@|^${uuidPattern}(?:$|[/+])`, 'i')

export function isUuid(text: string): boolean {
  return whole.test(text)
}

const withCredential = new RegExp(`^(.*@[^@+]+|${uuidPattern})\\+([a-z0-9][a-z0-9._-]{0,63})$`, 'i')

/**
 * `person@domain+credential` or `appId+credential`; undefined: the name has no credential. No domain has a plus, so that
 * a plus before the @ belongs to the person.
 */
export function splitCredentialName(
  name: string,
): { readonly account: string; readonly credential: string } | undefined {
  const [, account, credential] = withCredential.exec(name) ?? []
  return account === undefined || credential === undefined
    ? undefined
    : { account, credential: credential.toLowerCase() }
}

/**
 * True for a userPrincipalName, an appId, or the login role that the controller keeps for one of them. The form decides
 * alone, so that the kind of login that a server asks for does not tell which accounts exist.
 */
export function isDirectoryName(name: string): boolean {
  return ofAccount.test(name)
}
