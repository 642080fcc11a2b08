import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { type Database, openDatabase } from '../../../src/db/database.ts'
import { takeTurn } from '../../../src/masks/turn.ts'
import { openBareGateway } from '../../support/bare-gateway.ts'
import { startCluster } from '../../support/cluster.ts'
import { policy, rule } from '../../support/masked-database.ts'

/** How the server has each of these roles prove who it is. */
const methods = {
  hashed: 'md5',
  clear: 'password',
  trusted: 'trust',
  strong: 'scram-sha-256',
}
const weak = ['hashed', 'clear', 'trusted']

describe('a server that asks for weak proof', () => {
  let cluster: Awaited<ReturnType<typeof startCluster>>
  let admin: Database
  before(async () => {
    // Its own: who may log in how is a matter of the whole server.
    cluster = await startCluster('embedded-18')
    admin = openDatabase({ url: cluster.url, poolSize: 1, searchPath: 'public' })
    await admin.sql.unsafe(`
      set password_encryption = 'md5'; create role hashed login password 'secret'; reset password_encryption;
      create role clear login password 'secret'; create role trusted login; create role strong login password 'secret';
      create table public.t (email text); insert into public.t values ('ann@example.com');
      grant select on public.t to public`)
    await takeTurn(admin, policy([rule('public.t.email', 'Email')]))
    const [hba] = await admin.sql`select current_setting('hba_file') as file`
    const lines = Object.entries({ ...methods, all: 'scram-sha-256' }).map(
      ([role, method]) => `('host all ${role} 127.0.0.1/32 ${method}')`,
    )
    await admin.sql.unsafe(`copy (values ${lines.join()}) to '${hba?.file}'; select pg_reload_conf()`)
    const [wrong] = await admin.sql`select count(*)::int as n from pg_hba_file_rules where error is not null`
    assert.equal(wrong?.n, 0)
  })
  after(async () => {
    await admin.close()
    await cluster.stop()
  })

  const read = async (user: string, allowWeakLogin: boolean, password = 'secret') => {
    const gateway = await openBareGateway(admin, cluster.url, { allowWeakLogin })
    const client = new pg.Client({ host: '127.0.0.1', port: gateway.port, user, password, database: 'any' })
    client.on('error', () => {})
    try {
      await client.connect()
      return (await client.query('select current_user as me, email from public.t')).rows
    } finally {
      await client.end().catch(() => {})
      await gateway.close(0)
    }
  }

  for (const role of weak)
    test(`${methods[role as keyof typeof methods]} is refused`, async () => {
      await assert.rejects(read(role, false), { code: '28000', message: /SCRAM/ })
    })

  test('SCRAM is not', async () => {
    for (const isAllowed of [false, true]) {
      assert.deepEqual(await read('strong', isAllowed), [{ me: 'strong', email: 'aXXX@XXXX.com' }])
      await assert.rejects(read('strong', isAllowed, 'wrong'), { code: '28P01' })
    }
  })

  test('where it is allowed they get in, masked, and a wrong password is still wrong', async () => {
    for (const role of weak) {
      assert.deepEqual(await read(role, true), [{ me: role, email: 'aXXX@XXXX.com' }])
      if (role !== 'trusted') await assert.rejects(read(role, true, 'wrong'), { code: '28P01' })
    }
  })
})
