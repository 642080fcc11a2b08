import type { Room } from '../../api/room.ts'
import type { Surface } from '../../kernel/surface.ts'
import { describeErrors } from './describe-errors.ts'
import { describedPaths, describeOperation, openApiPath } from './describe-operation.ts'
import { describeSchemes } from './describe-security.ts'
import { SharedParts, shareSchemas } from './shared-parts.ts'

/** As much of a room as its description needs. */
export type DescribedRoom = Pick<Room, 'operations' | 'tags' | 'parameters'>

interface ApiFacts {
  readonly version: string
  /** The address that the reader uses. */
  readonly origin: string
}

const groups: Record<Surface, string> = { masking: 'Masking API', directory: 'Directory API' }

/** The OpenAPI document of the operations; there is no other description of the API. */
export function describeApi(rooms: readonly DescribedRoom[], { version, origin }: ApiFacts): object {
  const paths: Record<string, Record<string, object>> = {}
  const shared = new SharedParts()
  for (const { operations, parameters } of rooms)
    for (const operation of operations)
      describedPaths(operation).forEach((path, form) => {
        const url = openApiPath(operation, path)
        paths[url] ??= {}
        paths[url][operation.method.toLowerCase()] = describeOperation(
          operation,
          url,
          form,
          parameters,
          shared,
        )
      })
  const schemas: Record<string, unknown> = {}
  const [sharedPaths, responses] = [shareSchemas(paths, schemas), shareSchemas(describeErrors(), schemas)]
  return {
    openapi: '3.1.0',
    info: {
      title: 'Masquerade',
      version,
      summary: 'A self-hosted directory and data masking service for PostgreSQL.',
      description: introduction,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: origin, description: 'This service' }],
    tags: rooms.flatMap(({ tags }) =>
      Object.entries(tags).map(([name, description]) => ({ name, description })),
    ),
    'x-tagGroups': rooms.map(({ operations, tags }) => ({
      name: groups[operations[0]?.surface ?? 'directory'],
      tags: Object.keys(tags),
    })),
    paths: sharedPaths,
    components: {
      schemas,
      parameters: shared.parameters.all,
      examples: shared.examples.all,
      securitySchemes: describeSchemes(origin),
      responses,
    },
  }
}

const introduction = `Two APIs at one address: the masking API holds the rules and the policy of each database, the directory \
API holds people, groups, applications and their memberships.

Every call carries \`Authorization: Bearer <token>\`. Sign in here, or run \`masquerade token --admin\` on the machine of the \
service. Every answer carries the id of its request: quote it when you ask the operator about an error.`
