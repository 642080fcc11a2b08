import type { Gateway } from '../../src/gateway/gateway.ts'
import { takeTurn } from '../../src/masks/turn.ts'
import { createMaskedDatabase, policy, rule } from './masked-database.ts'

export const rawEmail = 'ann@example.com'
export const maskedEmail = 'aXXX@XXXX.com'

/** A database with one table, `public.t (id, email)`, one row in it and a role that may read and write it. */
export async function createMaskedTable(rules = [rule('public.t.email', 'Email')]) {
  const target = await createMaskedDatabase()
  const analyst = await target.createRole('analyst')
  await target.database.sql.unsafe(`
    create table public.t (id int, email text); insert into public.t values (1, '${rawEmail}');
    grant select, insert on public.t to "${analyst}"`)
  await takeTurn(target.database, policy(rules))
  return {
    ...target,
    analyst,
    /** How that role connects through a gateway. */
    through: ({ port }: Gateway) => ({
      host: '127.0.0.1',
      port,
      user: analyst,
      password: 'secret',
      database: 'any',
    }),
  }
}

export type MaskedTable = Awaited<ReturnType<typeof createMaskedTable>>
