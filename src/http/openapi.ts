import type { TSchema } from 'typebox'
import type { Operation } from '../api/operation.ts'
import type { Permission } from '../auth/permission.ts'
import { problems } from '../kernel/problem.ts'
import { pathPrefix, type Surface } from '../kernel/surface.ts'
import { shareSchemas } from './share-schemas.ts'

const surfaces: Record<Surface, string> = {
  masking: 'Masking API: the rules and the policy of a database.',
  directory: 'Directory API: groups, transitive membership, open extensions.',
}

/** The OpenAPI document of the operations; there is no other description of the API. */
export function describeApi(operations: readonly Operation<never>[], version: string): object {
  const paths: Record<string, Record<string, object>> = {}
  const schemas: Record<string, unknown> = {}
  const parameters = new ParameterList()
  for (const operation of operations)
    operation.paths.forEach((path, form) => {
      const url = openApiPath(operation, path)
      paths[url] ??= {}
      paths[url][operation.method.toLowerCase()] = describeOperation(operation, url, form, parameters)
    })
  return {
    openapi: '3.1.0',
    info: {
      title: 'Masquerade',
      version,
      description: 'A self-hosted directory and data masking service for PostgreSQL.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    tags: Object.entries(surfaces).map(([name, description]) => ({ name, description })),
    security: [{ bearer: [] }],
    paths: shareSchemas(paths, schemas),
    components: {
      schemas,
      parameters: parameters.all,
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
      responses: { masking: errorResponse('masking'), directory: errorResponse('directory') },
    },
  }
}

export function openApiPath(operation: Operation<never>, path: string): string {
  return pathPrefix[operation.surface] + path.replaceAll(/:(\w+)/g, '{$1}')
}

export function permissionInWords(permission: Permission): string {
  if ('anyCaller' in permission) return permission.anyCaller
  if ('action' in permission)
    return `Action ${permission.action} at the scope of the path, by role assignment.`
  if ('anyRow' in permission) return 'Permissions depend on the kind of the resource.'
  const { delegated, personal, application } = permission.row
  return `Delegated: ${delegated}. Personal account: ${personal}. Application: ${application}.`
}

function describeOperation(
  operation: Operation<never>,
  url: string,
  form: number,
  shared: ParameterList,
): object {
  const pathParameters = [...url.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
  const queryParameters = Object.entries(operation.query?.properties ?? {}).map(([name, schema]) => ({
    name,
    in: 'query',
    required: operation.query?.required?.includes(name) ?? false,
    schema,
  }))
  return {
    operationId: form === 0 ? operation.name : `${operation.name}_${form + 1}`,
    tags: [operation.surface],
    summary: operation.summary,
    description: `Clause ${operation.clause}. ${permissionInWords(operation.permission)}`,
    parameters: [...pathParameters, ...apiVersion(operation), ...queryParameters].map((one) =>
      shared.refer(one),
    ),
    ...(operation.body && { requestBody: { required: true, content: jsonContent(operation.body) } }),
    responses: {
      ...Object.fromEntries(
        Object.entries(operation.answers).map(([status, schema]) => [status, answer(schema)]),
      ),
      default: { $ref: `#/components/responses/${operation.surface}` },
    },
  }
}

interface Parameter {
  readonly name: string | undefined
  readonly in: string
  readonly required: boolean
  readonly schema: object
}

/** Most operations take the same parameters: each is described once and referred to. */
class ParameterList {
  readonly all: Record<string, Parameter> = {}
  readonly #names = new Map<string, string>()

  refer(parameter: Parameter): object {
    const text = JSON.stringify(parameter)
    let name = this.#names.get(text)
    if (name === undefined) {
      const plain = (parameter.name ?? '').replaceAll(/[^\w.-]/g, '')
      const taken = [...this.#names.values()].filter((other) => other.split('_')[0] === plain).length
      name = taken === 0 ? plain : `${plain}_${taken + 1}`
      this.#names.set(text, name)
      this.all[name] = parameter
    }
    return { $ref: `#/components/parameters/${name}` }
  }
}

function apiVersion({ apiVersions }: Operation<never>): Parameter[] {
  return apiVersions
    ? [{ name: 'api-version', in: 'query', required: true, schema: { type: 'string', enum: apiVersions } }]
    : []
}

function answer(schema: TSchema | null): object {
  return schema
    ? { description: 'Success', content: jsonContent(schema) }
    : { description: 'Success, no content' }
}

function jsonContent(schema: object): object {
  return { 'application/json': { schema } }
}

function errorResponse(surface: Surface): object {
  const codes = Object.values(problems).map(
    (kind) => (kind as { [s in Surface]?: { code?: string } })[surface]?.code ?? kind.code,
  )
  return {
    description: 'An error',
    content: jsonContent({
      type: 'object',
      required: ['error'],
      properties: {
        error: {
          type: 'object',
          required: ['code', 'message'],
          properties: {
            code: { type: 'string', examples: [...new Set(codes)].sort() },
            message: { type: 'string' },
            target: { type: 'string' },
            details: { type: 'array', items: { type: 'object' } },
            ...(surface === 'directory' && { innerError: { type: 'object' } }),
          },
        },
      },
    }),
  }
}
