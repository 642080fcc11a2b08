import { AsyncLocalStorage } from 'node:async_hooks'
import type { RequestListener } from 'node:http'
import inject from 'light-my-request'
import type { InnerAnswer, InnerRequest } from '../api/operation.ts'
import { fail } from '../kernel/problem.ts'
import { aliasPrefix, isAliased, withoutAlias } from '../kernel/surface.ts'
import type { ApiRequest } from './exchange.ts'
import { isForwarding } from './read-forwarded.ts'

/** The origin that the client of the outer request addressed, while an inner request is handled. */
const outerOrigin = new AsyncLocalStorage<string>()

/** Undefined outside of inner requests. */
export function findOuterOrigin(): string | undefined {
  return outerOrigin.getStore()
}

export function originOf({ protocol, host }: { readonly protocol: string; readonly host: string }): string {
  return `${protocol}://${host}`
}

/**
 * Handles a request inside another one: it passes the router, authentication, throttle, permission check and limits as
 * one from the network does, with a request id of its own. The token, host and client's address are the outer request's.
 */
export async function sendInner(
  handle: RequestListener,
  outer: ApiRequest,
  inner: InnerRequest,
): Promise<InnerAnswer> {
  const { authorization, host, 'client-request-id': clientRequestId } = outer.headers
  if (inner.headers.authorization !== undefined && inner.headers.authorization !== authorization)
    fail('InvalidBatchedRequest', { reason: 'it has another token than the batch' })
  const headers = {
    ...(clientRequestId !== undefined && { 'client-request-id': clientRequestId }),
    ...Object.fromEntries(Object.entries(inner.headers).filter(([name]) => !isForwarding(name))),
    ...(host !== undefined && { host }),
    ...(authorization !== undefined && { authorization }),
  }
  // Awaited inside: the framework sends the request when its answer is asked for.
  const answer = await outerOrigin.run(
    findOuterOrigin() ?? originOf(outer),
    async () =>
      await inject(handle, {
        method: inner.method as 'GET',
        url: (isAliased(outer.originalUrl) ? aliasPrefix : '') + withoutAlias(inner.url),
        headers,
        remoteAddress: outer.clientAddress,
        ...(inner.body !== undefined && { payload: inner.body }),
      }),
  )
  const sent = Object.entries(answer.headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  )
  return { status: answer.statusCode, headers: Object.fromEntries(sent), body: answer.payload }
}
