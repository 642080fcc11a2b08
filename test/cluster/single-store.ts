import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { type EmbeddedPostgres, startEmbedded } from '../../src/db/embedded.ts'
import { NetworkLink } from './proxy.ts'
import type { ClusterStore } from './store.ts'

/** One PostgreSQL of the package's own behind a network that can be cut: all that the short test needs. */
export async function startSingleStore(folder: string): Promise<ClusterStore> {
  const dataDir = join(folder, `store-${randomBytes(2).toString('hex')}`)
  const start = () => startEmbedded({ dataDir, fast: false })
  let server: EmbeddedPostgres = await start()
  const link = await NetworkLink.open(() => server.port)
  const { username, password } = new URL(server.url)
  return {
    hosts: [`127.0.0.1:${link.port}`],
    user: username,
    password: decodeURIComponent(password),
    primaryChecks: [],
    isWhole: async () => true,
    describe: async () => 'one server',
    faults: [
      {
        name: 'server: stopped and started',
        async begin() {
          await server.stop()
          server = await start()
          return async () => {}
        },
      },
      {
        name: 'server: network cut',
        async begin() {
          link.cut()
          await new Promise((resolve) => setTimeout(resolve, 6_000))
          link.heal()
          return async () => {}
        },
      },
      {
        name: 'server: 40 ms of delay',
        async begin() {
          link.slow(40)
          return async () => link.heal()
        },
      },
    ],
    async close() {
      await link.close()
      await server.stop()
    },
  }
}
