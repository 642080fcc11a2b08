import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isLoopbackAddress } from '../kernel/network.ts'
import { type HostGuard, HostRefused, lookupAmong } from './host-guard.ts'

export interface PostAnswer {
  readonly status: number
  readonly contentType: string
  /** The first bytes of the body. */
  readonly text: string
}

interface Post {
  readonly url: URL
  readonly contentType: string
  readonly body: string
  readonly timeoutMs: number
}

const keptBytes = 4096

/**
 * Sends a body to an address of a client's choice. The guard resolves the name, and the connection goes to nothing but the
 * addresses that it let pass. Redirects are not followed. Without TLS only loopback is reached.
 */
export async function postGuarded(guard: HostGuard, post: Post): Promise<PostAnswer> {
  const { url, contentType, body, timeoutMs } = post
  const signal = AbortSignal.timeout(timeoutMs)
  const isPlain = url.protocol === 'http:'
  const port = Number(url.port) || (isPlain ? 80 : 443)
  const addresses = await guard(url.hostname.replace(/^\[|\]$/g, ''), port)
  if (isPlain && !addresses.every(isLoopbackAddress)) throw new HostRefused('is reached by HTTPS alone')
  return await new Promise((resolve, reject) => {
    const send = isPlain ? requestHttp : requestHttps
    const sent = send(url, {
      method: 'POST',
      headers: { 'content-type': contentType, 'content-length': Buffer.byteLength(body) },
      lookup: lookupAmong(addresses),
      agent: false,
      signal,
    })
    sent.on('error', reject)
    sent.on('response', (answer) => {
      const chunks: Buffer[] = []
      let kept = 0
      const finish = () =>
        resolve({
          status: answer.statusCode ?? 0,
          contentType: answer.headers['content-type'] ?? '',
          text: Buffer.concat(chunks).subarray(0, keptBytes).toString('utf8'),
        })
      answer.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        kept += chunk.length
        if (kept < keptBytes) return
        finish()
        sent.destroy()
      })
      answer.on('end', finish)
      answer.on('error', reject)
    })
    sent.end(body)
  })
}
