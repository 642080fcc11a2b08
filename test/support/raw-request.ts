import { Agent, request } from 'node:http'

export interface RawAnswer {
  readonly status: number
  readonly text: string
}

/** Sends requests as they are given: no part of the URL is tidied up on the way, as `fetch` would. */
export function rawSender(origin: string) {
  const { hostname, port } = new URL(origin)
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  return {
    send(method: string, path: string, headers: Record<string, string>, body?: string | Buffer) {
      return new Promise<RawAnswer>((resolve, reject) => {
        const sent = request({ hostname, port, method, path, headers, agent }, (answer) => {
          const chunks: Buffer[] = []
          answer.on('data', (chunk: Buffer) => chunks.push(chunk))
          answer.on('end', () =>
            resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
          )
        })
        sent.on('error', reject)
        sent.end(body)
      })
    },
    close: () => agent.destroy(),
  }
}
