import { createHash } from 'node:crypto'
import { directoryRoom } from '../../src/directory/room.ts'
import { describeApi } from '../../src/http/description/describe-api.ts'
import { maskingRoom } from '../../src/masking/room.ts'

export const typesFile = new URL('../../portal/src/api/schema.d.ts', import.meta.url)

interface Described {
  readonly components: { readonly schemas: Readonly<Record<string, object>> }
}

/** The bodies and answers of the APIs, as a description of their own: what the portal has types of. */
export function describeTypes(): object {
  const rooms = [maskingRoom({ providerAliases: [] } as never), directoryRoom({} as never)]
  const { components } = describeApi(rooms, { version: '0', origin: 'https://localhost' }) as Described
  const schemas = Object.entries(components.schemas).filter(([name]) => !/Error\d+$/.test(name))
  const info = { title: 'Masquerade', version: '0' }
  return { openapi: '3.1.0', info, paths: {}, components: { schemas: Object.fromEntries(schemas) } }
}

/** The first line of the types: it changes with the description. */
export function markOf(description: object): string {
  const hash = createHash('sha256').update(JSON.stringify(description)).digest('hex')
  return `// Made by npm run types from the description ${hash.slice(0, 16)}.`
}
