import { after, afterEach, before } from 'node:test'
import type { Gateway } from '../../src/gateway/gateway.ts'
import { takeTurn } from '../../src/masks/turn.ts'
import { message } from '../../src/wire/messages.ts'
import { openBareGateway } from './bare-gateway.ts'
import { policy, rule } from './masked-database.ts'
import { createMaskedTable, type MaskedTable } from './masked-table.ts'

/** Messages of the extended protocol. */
export const sync = message('S')
export const execute = message('E', '\0', Buffer.alloc(4))
export const parse = (name: string | Buffer, text: string | Buffer) =>
  message('P', name, '\0', text, '\0', Buffer.alloc(2))
export const bind = (name: string | Buffer) => message('B', '\0', name, '\0', Buffer.alloc(6))
export const describeStatement = (name: string) => message('D', `S${name}\0`)
export const closeStatement = (name: string) => message('C', `S${name}\0`)

/** A table whose rules come and go, and a gateway before it. After each test there are none. */
export function useChangingRules() {
  let target: MaskedTable | undefined
  let gateway: Gateway | undefined
  const opened = () => {
    if (!target || !gateway) throw new Error('the gateway is not there yet')
    return { target, gateway }
  }
  before(async () => {
    target = await createMaskedTable([])
    await target.database.sql.unsafe(`
      create table public.other (id int); insert into public.other values (7);
      create table public.sink (s text);
      grant select on public.other to "${target.analyst}"; grant select, insert on public.sink to "${target.analyst}"`)
    gateway = await openBareGateway(target.database, target.url)
  })
  const setRules = async (...columns: string[]) => {
    const rules = columns.map((column) => rule(column, 'Email'))
    await takeTurn(opened().target.database, policy(rules))
    await opened().gateway.refresh('one')
  }
  afterEach(() => setRules())
  after(async () => {
    await gateway?.close(0)
    await target?.[Symbol.asyncDispose]()
  })
  return {
    setRules,
    target: () => opened().target,
    configuration: () => opened().target.through(opened().gateway),
  }
}
