import { takeTurn } from '../../../src/masks/turn.ts'
import { openBareGateway } from '../bare-gateway.ts'
import type { ClusterName } from '../cluster.ts'
import { createMaskedDatabase, policy } from '../masked-database.ts'
import { openWireClient } from '../wire-client.ts'
import { oracle } from './oracle.ts'
import { rules } from './rules.ts'
import { rows, schema } from './schema.ts'

export type Rental = Awaited<ReturnType<typeof openRental>>

/** The film rental behind a gateway: one client there who is masked, and one before the views written by hand. */
export async function openRental(cluster?: ClusterName) {
  const target = await createMaskedDatabase(cluster)
  const clerk = await target.createRole('clerk')
  const { sql } = target.database
  await sql.unsafe(schema + rows + oracle)
  await sql.unsafe(`
    grant usage on schema public, "Back Office", oracle to "${clerk}";
    grant select, insert, update, delete on all tables in schema public, "Back Office" to "${clerk}";
    grant usage on all sequences in schema public to "${clerk}"; analyze`)
  await takeTurn(target.database, policy(rules))
  // Writes are compared with what they read, masks as well.
  const gateway = await openBareGateway(target.database, target.url, { allowMaskedCopies: true })
  const urlOf = (role: string) =>
    Object.assign(new URL(target.urlOf(role)), { host: `127.0.0.1:${gateway.port}` }).href
  const through = urlOf('clerk')
  const clients = {
    gateway: await openWireClient(through),
    direct: await openWireClient(target.url, { search_path: 'oracle, public' }),
  }
  const [server] = await sql<
    { version: number }[]
  >`select current_setting('server_version_num')::int / 10000 as version`
  return {
    ...clients,
    target,
    clerk,
    url: through,
    urlOf,
    database: target.url.replace(/^.*\//, ''),
    version: server?.version ?? 0,
    async [Symbol.asyncDispose]() {
      for (const client of Object.values(clients)) await client.close()
      await gateway.close(0)
      await target[Symbol.asyncDispose]()
    },
  }
}
