import type { TSchema } from 'typebox'
import type { Operation } from '../../api/operation.ts'
import type { Room } from '../../api/room.ts'
import { aliasNamespace, pathPrefix } from '../../kernel/surface.ts'
import { errorStatusesOf, referToError } from './describe-errors.ts'
import { describeSecurity, permissionInWords } from './describe-security.ts'
import { makeExample } from './make-example.ts'
import type { SharedParts } from './shared-parts.ts'

export function openApiPath({ surface }: Operation<never>, path: string): string {
  return pathPrefix[surface] + path.replaceAll(/:(\w+)/g, '{$1}')
}

/** The paths of an operation without those that only spell the name of a type in another way. */
export function describedPaths({ paths }: Operation<never>): string[] {
  return paths.filter((path) => !otherSpelling.test(path))
}

const otherSpelling = new RegExp(`/(?:${aliasNamespace.replace('.', '\\.')}|graph)\\.\\w+(?=/|$)`)

/** The operation at one of its paths; `form` counts them. */
export function describeOperation(
  operation: Operation<never>,
  url: string,
  form: number,
  notes: Room['parameters'],
  shared: SharedParts,
): object {
  const { name, surface, summary, clause, permission, body, describedBody, answers } = operation
  const answered = Object.entries(answers).map(
    ([status, schema]) => [status, describeAnswer(name, schema, shared)] as const,
  )
  const refused = errorStatusesOf(operation).map(
    (status) => [String(status), referToError(surface, status)] as const,
  )
  return {
    operationId: form === 0 ? name : `${name}_${form + 1}`,
    tags: [operation.tag ?? surface],
    summary,
    description: `${permissionInWords(permission)}\n\nClause ${clause}.`,
    security: describeSecurity(permission),
    parameters: [...describePath(url, notes), ...describeVersion(operation), ...describeQuery(operation)].map(
      (parameter) => shared.parameters.refer(parameter.name, parameter),
    ),
    ...(body && {
      requestBody: { required: true, content: describeContent(name, describedBody ?? body, shared) },
    }),
    responses: Object.fromEntries([...answered, ...refused]),
  }
}

interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly required: boolean
  readonly schema: object
}

function describePath(url: string, notes: Room['parameters']): Parameter[] {
  return [...url.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => {
    const { pattern, ...note } = notes[name] ?? {}
    const schema = { type: 'string', minLength: 1, ...(pattern && { pattern }) }
    return { name, in: 'path', required: true, ...note, schema }
  })
}

function describeVersion({ apiVersions }: Operation<never>): Parameter[] {
  if (!apiVersions) return []
  const schema = { type: 'string', enum: apiVersions, default: apiVersions[0] }
  return [{ name: 'api-version', in: 'query', required: true, schema }]
}

function describeQuery({ query }: Operation<never>): Parameter[] {
  return Object.entries((query?.properties ?? {}) as Record<string, TSchema>).map(([name, schema]) => {
    const { description, described, ...plain } = schema as { description?: string; described?: object }
    const required = query?.required?.includes(name) ?? false
    return { name, in: 'query', required, ...(description && { description }), schema: described ?? plain }
  })
}

function describeAnswer(name: string, schema: TSchema | null, shared: SharedParts): object {
  return schema
    ? { description: 'Success', content: describeContent(name, schema, shared) }
    : { description: 'Success, without a body' }
}

function describeContent(name: string, schema: TSchema, shared: SharedParts): object {
  const { contentMediaType, ...plain } = schema as { contentMediaType?: string; title?: string }
  const example = shared.examples.refer(plain.title ?? name, { value: makeExample(plain) })
  return { [contentMediaType ?? 'application/json']: { schema: plain, examples: { usual: example } } }
}
