import { randomBytes } from 'node:crypto'
import type { Logger } from 'pino'
import type { Caller } from '../../auth/caller.ts'
import { postGuarded } from '../../db/guarded-post.ts'
import type { HostGuard } from '../../db/host-guard.ts'
import { isSafeUrl } from '../../kernel/network.ts'
import { fail } from '../../kernel/problem.ts'
import type { TokenGrounds } from '../../kernel/token-grounds.ts'

/** The share of notifications that operations need. */
export interface NotificationPorts {
  /** Refuses an address that may not be notified, or whose server does not answer with the token that it was sent. */
  validate(address: string): Promise<void>
  /** The facts that the caller's token rests on, and with it the notifications; undefined: there is no token. */
  groundsOf(caller: Caller): TokenGrounds | undefined
}

const timeoutMs = 10_000

export async function validateAddress(guard: HostGuard, log: Logger, address: string): Promise<void> {
  const url = URL.parse(address)
  if (!url || !isSafeUrl(address) || url.username !== '' || url.password !== '' || url.hash !== '')
    return refuse('it must be an HTTPS address')
  const token = `Validation: ${randomBytes(24).toString('base64url')}`
  url.searchParams.set('validationToken', token)
  try {
    const { status, contentType, text } = await postGuarded(guard, {
      url,
      contentType: 'text/plain; charset=utf-8',
      body: '',
      timeoutMs,
    })
    if (status === 200 && /^text\/plain\b/i.test(contentType) && text === token) return
  } catch (err) {
    // The reason stays in the log: the caller must not learn which addresses of a network answer.
    log.info({ err, host: url.host }, 'a notification address could not be validated')
  }
  refuse(
    `it must answer the validation request with 200, text/plain and the token within ${timeoutMs / 1000} s`,
  )
}

function refuse(reason: string): never {
  return fail('UnusableNotificationUrl', { reason })
}
