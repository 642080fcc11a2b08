import { request } from 'node:https'
import { text } from 'node:stream/consumers'
import { bracketHost, reachableAddress } from '../kernel/network.ts'
import { nodeName } from '../kernel/node-name.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import { exitCodes } from './exit-codes.ts'
import { startCommand } from './invocation.ts'
import type { RunFile } from './run-file.ts'

export interface Sent {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly signal: AbortSignal
}

/**
 * Sends a request to the service that wrote the file, and to no other program: after a service was killed, any user of the machine
 * may listen at its port. Nothing is sent before the certificate is verified.
 */
export async function fetchOwn(run: RunFile, path: string, sent: Sent): Promise<Response> {
  const { host, httpsPort, certificate } = run
  if (certificate === undefined)
    throw new OperatorError(
      'The service that runs, or ran last, is an older one: start it again, or say --url and --token.',
      { exitCode: exitCodes.unreachable },
    )
  const address = reachableAddress(host)
  const { body, ...rest } = sent
  try {
    return await new Promise<Response>((resolve, reject) => {
      // Whatever NODE_TLS_REJECT_UNAUTHORIZED says.
      const proof = { ca: certificate, servername: nodeName, rejectUnauthorized: true }
      const place = { host: address, port: httpsPort, path, ...proof }
      const asked = request({ ...place, ...rest }, (answer) => {
        const headers = Object.entries(answer.headers).map(
          ([name, value]) => [name, String(value)] as [string, string],
        )
        text(answer).then(
          (read) => resolve(new Response(read || null, { status: answer.statusCode ?? 500, headers })),
          reject,
        )
      })
      asked.once('error', reject)
      asked.end(body)
    })
  } catch (cause) {
    const { code = (cause as Error).name } = cause as { code?: string }
    const place = `https://${bracketHost(address)}:${httpsPort}`
    const words = isForeign.test(code)
      ? `The program at ${place} has not proven to be the service of this data directory: the service is starting again, or it was killed and another program has its port. Try again in a moment, or start it with '${startCommand}'.`
      : `${place} cannot be reached (${code}).`
    throw new OperatorError(words, { exitCode: exitCodes.unreachable, cause })
  }
}

/** Codes of a certificate that is not the service's, and of answers that are no TLS. */
const isForeign = /CERT|SIGNATURE|^(ERR_TLS|ERR_SSL|EPROTO|UNABLE_TO)/
