import pg from 'pg'
import { accounts, password, type Ready } from './service.ts'

const loginsAtOnce = 20

/** Sessions through the gateway that read rows by key, each the next when it has the last. */
export function openSessions({ gatewayPort, database, role }: Ready) {
  const clients: pg.Client[] = []
  let turn = 0
  return {
    /** Opens as many as are missing to the number, and returns how many those were. */
    async open(number: number): Promise<number> {
      const before = clients.length
      const work = async () => {
        while (clients.length < number) {
          const client = new pg.Client({
            host: '127.0.0.1',
            port: gatewayPort,
            user: role,
            password,
            database,
          })
          client.on('error', () => {})
          clients.push(client)
          await client.connect()
        }
      }
      await Promise.all(Array.from({ length: loginsAtOnce }, work))
      return clients.length - before
    },
    /** The number of statements that were answered. */
    async run(seconds: number): Promise<number> {
      const end = performance.now() + seconds * 1000
      let answered = 0
      await Promise.all(
        clients.map(async (client) => {
          while (performance.now() < end) {
            const text = 'select name, email from account where aid = $1'
            await client.query({ name: 'read', text, values: [1 + ((turn++ * 7919) % accounts)] })
            answered++
          }
        }),
      )
      return answered
    },
    async close(): Promise<void> {
      await Promise.all(clients.splice(0).map((client) => client.end()))
    },
  }
}
