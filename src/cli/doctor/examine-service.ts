import { connect, createServer } from 'node:net'
import type { Exposure } from '../../contracts/inspection.ts'
import { countOf } from '../../kernel/count-of.ts'
import { reachableAddress } from '../../kernel/network.ts'
import { OperatorError } from '../../kernel/operator-error.ts'
import type { Settings } from '../../settings.ts'
import { type Api, databasePathOf, openApi, Refused } from '../api.ts'
import { askReadiness } from '../ask-readiness.ts'
import { startCommand } from '../invocation.ts'
import { quoteArgument } from '../quote-argument.ts'
import { type RunFile, readRunFile, urlOf } from '../run-file.ts'
import { type Finding, ok, problem, skipped, warning } from './finding.ts'

const answerMs = 5000
const restart = `stop the service, then ${startCommand}`

/**
 * The running service: its pages, its gateway, and the ways around masks that it finds in bound databases. `databaseIds`: null
 * where it cannot be asked about them.
 */
export async function examineService(
  settings: Settings,
  databaseIds: readonly string[] | null,
): Promise<Finding[]> {
  let run: RunFile | null
  try {
    run = await readRunFile(settings.dataDir)
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    const fix = 'set MASQUERADE_DATA_DIR to the one of the service'
    const rest = ['gateway', 'exposures'].map((check) => skipped(check, 'Nothing says where the service is.'))
    return [problem('service', error.message, fix), ...rest]
  }
  const { isRunning, ...service } = await examineReadiness(run)
  if (run && service.state === 'ok')
    return [service, await examineGateway(run), ...(await examineExposures(run, databaseIds))]
  const ports = isRunning ? [] : [await examinePorts(settings)]
  const reason = isRunning ? 'The service is not ready.' : 'The service does not run.'
  return [...ports, service, ...['gateway', 'exposures'].map((check) => skipped(check, reason))]
}

/** Ports that another program took: the service does not start before they are free. */
async function examinePorts(settings: Settings): Promise<Finding> {
  const wanted = { HTTP: settings.httpPort, HTTPS: settings.httpsPort, GATEWAY: settings.gatewayPort }
  const taken: string[] = []
  for (const [name, port] of Object.entries(wanted))
    if (!(await isFree(settings.host, port))) taken.push(`${port} (MASQUERADE_${name}_PORT)`)
  if (taken.length === 0) return ok('ports', 'They are free for the service.')
  return problem(
    'ports',
    `Another program has ${taken.join(' and ')}.`,
    'ss -ltnp, and stop that program or set another port',
  )
}

async function isFree(host: string, port: number): Promise<boolean> {
  const server = createServer()
  return await new Promise<boolean>((resolve) => {
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code !== 'EADDRINUSE'))
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(true)))
  })
}

async function examineReadiness(run: RunFile | null): Promise<Finding & { readonly isRunning: boolean }> {
  const check = 'service'
  const stopped = (words: string) => ({ ...problem(check, words, startCommand), isRunning: false })
  if (!run) return stopped('It does not run.')
  const url = urlOf(run)
  const readiness = await askReadiness(run)
  if (!readiness) return stopped(`It does not answer at ${url}: it was killed, or it is starting again.`)
  if (readiness.isReady) return { ...ok(check, `It is ready at ${url}.`), isRunning: true }
  const reasons = readiness.notReady.map(({ name, reason }) => `${name}: ${reason}`).join('; ')
  const words = `It runs and is not ready. ${reasons}`
  return { ...problem(check, words, 'masquerade status'), isRunning: true }
}

/** Asks for TLS as a client of PostgreSQL does. */
async function examineGateway({ host, gatewayPort = 0 }: RunFile): Promise<Finding> {
  const place = `${reachableAddress(host)}:${gatewayPort}`
  const sslRequest = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f])
  const answer = await new Promise<string>((resolve) => {
    const socket = connect({ host: reachableAddress(host), port: gatewayPort, timeout: answerMs })
    const end = (result: string) => {
      socket.destroy()
      resolve(result)
    }
    socket.once('connect', () => socket.write(sslRequest))
    socket.once('data', (bytes) => end(bytes.toString('latin1')))
    socket.once('error', (error) => end(error.message))
    socket.once('timeout', () => end('no answer'))
    socket.once('close', () => end('closed'))
  })
  if (answer === 'S') return ok('gateway', `It takes connections with TLS at ${place}.`)
  return problem(
    'gateway',
    `It does not take connections at ${place} (${answer}).`,
    'masquerade status, and the log',
  )
}

/** Null: the service cannot be asked. */
async function examineExposures(
  { certificate }: RunFile,
  databaseIds: readonly string[] | null,
): Promise<Finding[]> {
  const check = 'exposures'
  if (databaseIds === null) return [skipped(check, 'No token is valid while the clock is off.')]
  if (certificate === undefined)
    return [warning(check, 'The service is of an earlier release: commands send it no token.', restart)]
  if (databaseIds.length === 0) return []
  const findings: Finding[] = []
  try {
    const api = await openApi({ admin: true })
    for (const id of databaseIds)
      findings.push(...(await examineDrift(api, id)), await examineDatabase(api, id))
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    findings.push(problem(check, error.message, 'masquerade status, and the log'))
  }
  return findings
}

/** The state of the masks is from the last look of the service: objects may have been changed by hand since. */
async function examineDrift(api: Api, id: string): Promise<Finding[]> {
  const path = `${databasePathOf(id, 'doctor')}/dataMaskingPolicies/Default/impact`
  try {
    const { body } = await api.send<{ statements: unknown[] }>('POST', path, { properties: {} })
    const { length } = body.statements
    if (length === 0) return []
    const words = `${countOf(length, 'statement')} would bring the database back to the policy: objects were changed by hand.`
    const fix = `the next audit repairs it (MASQUERADE_AUDIT_SECONDS); then masquerade policy show -d ${quoteArgument(id)}`
    return [warning(`drift of ${id}`, words, fix)]
  } catch (error) {
    // The exposures tell why the database cannot be looked into.
    if (error instanceof Refused) return []
    throw error
  }
}

async function examineDatabase(api: Api, id: string): Promise<Finding> {
  const check = `exposures of ${id}`
  const fix = `masquerade exposures -d ${quoteArgument(id)}`
  try {
    const path = `${databasePathOf(id, 'doctor')}/dataMaskingPolicies/Default/exposures`
    const { body } = await api.send<{ value: Exposure[] }>('GET', path)
    const high = body.value.filter(({ severity }) => severity === 'high').length
    const others = body.value.length - high
    if (high > 0) return problem(check, `${high} of high severity, ${others} others.`, fix)
    return others > 0
      ? warning(check, `${others}, none of high severity.`, fix)
      : ok(check, 'None was found.')
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    return problem(check, error.message, `masquerade policy show -d ${quoteArgument(id)}`)
  }
}
