import type { ColumnPlace } from '../../src/contracts/inspection.ts'
import { readMaskedFor } from '../../src/findings/per-role/read-masked.ts'
import type { GatewayPorts, SessionEvent } from '../../src/gateway/ports.ts'
import { openBareGateway } from './bare-gateway.ts'
import type { createMaskedDatabase } from './masked-database.ts'
import { waitUntil } from './wait-until.ts'

type MaskedDatabase = Awaited<ReturnType<typeof createMaskedDatabase>>

/** A table `people` with an email in each schema, for these roles of the test. */
export async function createPeople(
  { database, role }: MaskedDatabase,
  readers: readonly (readonly [schema: string, ...names: string[]])[],
  emailIn: (schema: string) => string,
): Promise<void> {
  for (const [schema, ...names] of readers) {
    const all = names.map((name) => `"${role(name)}"`).join(', ')
    await database.sql.unsafe(`create schema if not exists "${schema}"; create table "${schema}".people (id int, email text);
      insert into "${schema}".people values (1, '${emailIn(schema)}');
      grant usage on schema "${schema}" to ${all}; grant select on "${schema}".people to ${all}`)
  }
}

/** A bare gateway that keeps what its sessions tell the audit. `observed`: nothing is masked, and these columns would be. */
export async function openWatchedGateway(
  { database, url, role }: MaskedDatabase,
  observed?: readonly ColumnPlace[],
) {
  const events: SessionEvent[] = []
  const ports: Partial<GatewayPorts> = {
    recordEvents: async (more: readonly SessionEvent[]) => void events.push(...more),
    ...(observed && {
      readMasks: (_, roles) => readMaskedFor(database.sql, roles, observed),
      readVersion: async () => JSON.stringify(observed),
    }),
  }
  const gateway = await openBareGateway(database, url, {}, {}, { ports })
  return {
    /** For a client that logs in as that role of the test. */
    configOf: (name: string) => ({
      host: '127.0.0.1',
      port: gateway.port,
      user: role(name),
      password: 'secret',
      database: 'any',
    }),
    /** All that the one session of `run` touches. */
    async watch(run: () => Promise<unknown>) {
      events.length = 0
      await run()
      await waitUntil('the end of the session', async () => events.some(({ kind }) => kind === 'ended'))
      return events.flatMap((event) => (event.kind === 'touched' ? event.touches : []))
    },
    refresh: () => gateway.refreshAll(),
    close: () => gateway.close(0),
  }
}
