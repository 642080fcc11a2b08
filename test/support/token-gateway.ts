import type { TestContext } from 'node:test'
import type pg from 'pg'
import type { GatewayPorts } from '../../src/gateway/ports.ts'
import { openBareGateway, testPrincipal } from './bare-gateway.ts'
import type { useGateway } from './gateway.ts'

interface Options {
  readonly workers: number
  readonly ports: Partial<GatewayPorts>
  /** Of the login role, as the directory has it. */
  readonly passwordOf?: () => string
}

/**
 * A bare gateway to the database of `gateway` that takes every token for one of a person whose login role is `analyst`. The ports say
 * what happens between the check of the token and the beginning of the session.
 */
export async function openTokenGateway(
  t: TestContext,
  gateway: ReturnType<typeof useGateway>,
  { workers, ports, passwordOf = () => 'secret' }: Options,
) {
  const target = gateway.masked()
  const role = target.role('analyst')
  const accepting: Partial<GatewayPorts> = {
    checkToken: async () => ({ kind: 'accepted', principal: testPrincipal('ana') }),
    prepareLogin: async () => ({ kind: 'ready', login: { role, password: passwordOf(), version: '1' } }),
    ...ports,
  }
  const bare = await openBareGateway(target.database, target.url, {}, {}, { workers, ports: accepting })
  t.after(() => bare.close(0))
  return {
    asRole: (): Promise<pg.Client> => gateway.connect('analyst', { port: bare.port }),
    asPerson: (): Promise<pg.Client> =>
      gateway.connect('', { port: bare.port, user: 'ana@example.com', password: 'a token' }),
  }
}
