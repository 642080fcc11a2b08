import { refuse } from '../../wire/refusal.ts'
import type { FoundDatabase, GatewayPorts } from '../ports.ts'

/** The one database that goes by this name. */
export async function findDatabase(name: string, ports: GatewayPorts): Promise<FoundDatabase> {
  const [first, ...others] = await lookUp(name, ports).catch((cause: unknown) =>
    refuse('StoreUnavailable', {}, { cause }),
  )
  if (!first) return refuse('UnknownDatabase', { name })
  if (others.length > 0) refuse('AmbiguousDatabase', { name, form: nameLonger(name) })
  return first
}

async function lookUp(name: string, ports: GatewayPorts): Promise<readonly FoundDatabase[]> {
  const bound = await ports.findDatabases(name)
  return bound.length > 0 ? bound : (await ports.findUnbound(name)).map(markUnbound)
}

function markUnbound(database: FoundDatabase): FoundDatabase {
  return { ...database, isUnbound: true }
}

/** The form of a longer name. Which databases there are, clients learn after their login. */
function nameLonger(name: string): string {
  const form = ['subscription', 'group', 'server', 'database']
  return form.slice(Math.max(form.length - name.split('/').length - 1, 0)).join('/')
}
