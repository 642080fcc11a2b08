import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { fillDirectory } from './directory.ts'
import type { useGateway } from './gateway.ts'
import { promised } from './wait-until.ts'

type Gateway = ReturnType<typeof useGateway>

/** People of the directory who come through a gateway with tokens. `readers` may read every table of the database. */
export async function bringPeople(gateway: Gateway) {
  const { masking, db } = gateway
  const service = masking.service()
  const directory = fillDirectory(service)
  const { database } = gateway.masked()
  const readers = await gateway.masked().createRole('readers', 'NOLOGIN')
  await database.sql.unsafe(`grant select on all tables in schema public, sales to "${readers}"`)

  return {
    directory,
    readers,

    /** A user with an account, in these groups. */
    async user(...groups: string[]): Promise<{ id: string; name: string; token: string }> {
      const name = `p${randomUUID().slice(0, 8)}`
      const id = await directory.user(name)
      await directory.join(id, ...groups)
      const token = service.tokenFor({ principal: id, permissions: ['user_impersonation'] })
      await service.tokens.settled()
      return { id, name: `${name}@example.com`, token }
    },

    /** Maps a database role to a principal and returns the path of the mapping. */
    async map(principalId: string, databaseRole = readers): Promise<string> {
      const path = `${db}/roleMappings/${randomUUID().slice(0, 8)}`
      const put = await masking.send('PUT', path, { properties: { databaseRole, principalId } })
      if (put.status !== 201) throw new Error(put.text)
      return path
    },

    /** Out of the group, through the API. */
    async leave(groupId: string, memberId: string, at = service): Promise<void> {
      const token = at.tokenFor({ permissions: ['GroupMember.ReadWrite.All', 'Directory.ReadWrite.All'] })
      const removed = await at.request('DELETE', `/v1.0/groups/${groupId}/members/${memberId}/$ref`, {
        token,
      })
      if (removed.status !== 204) throw new Error(removed.text)
    },

    connect: (user: string, token: string, options: pg.ClientConfig = {}) =>
      gateway.connect('', { user, password: token, ...options }),
  }
}

/** Resolves with the code of the error that ends an open session; rejects when nothing does in time. */
export function ended(client: pg.Client, withinMs: number): Promise<string | undefined> {
  return endedBy(client, withinMs, () => Promise.resolve())
}

/** Less than a database that does not answer delays whatever waits for it. */
const answerMs = 20_000

/**
 * The same of a change that ends it. The time begins with the answer to the change, which may take long on a busy machine; rejects
 * when the answer takes longer than `answerMs`.
 */
export async function endedBy(
  client: pg.Client,
  withinMs: number,
  change: () => Promise<unknown>,
): Promise<string | undefined> {
  let code: string | undefined
  client.on('error', (error: Error & { code?: string }) => {
    code ??= error.code
  })
  const end = new Promise((resolve) => client.once('end', resolve))
  await inTime(change(), promised(answerMs), 'the change is not answered')
  await inTime(end, promised(withinMs), 'the session goes on')
  return code
}

async function inTime(awaited: Promise<unknown>, withinMs: number, complaint: string): Promise<void> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(complaint)), withinMs)
  await Promise.race([awaited, late.promise]).finally(() => clearTimeout(timer))
}
