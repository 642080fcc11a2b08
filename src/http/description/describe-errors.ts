import type { Operation } from '../../api/operation.ts'
import { directoryProblems } from '../../kernel/problems/directory.ts'
import type { Kind } from '../../kernel/problems/kind.ts'
import { maskingProblems } from '../../kernel/problems/masking.ts'
import { requestProblems } from '../../kernel/problems/request.ts'
import { serviceProblems } from '../../kernel/problems/service.ts'
import type { Surface } from '../../kernel/surface.ts'

const problemsOf: Record<Surface, readonly Kind[]> = {
  masking: [requestProblems, maskingProblems, serviceProblems].flatMap((table) => Object.values<Kind>(table)),
  directory: [requestProblems, directoryProblems, serviceProblems].flatMap((table) =>
    Object.values<Kind>(table),
  ),
}

/** The statuses of errors that the form of an operation tells, and those that it declares. */
export function errorStatusesOf(operation: Operation<never>): number[] {
  const { method, reads, surface, body, paths, permission, errors = [] } = operation
  const writes = method !== 'GET' && !reads
  const finds = body !== undefined || paths.some((path) => path.includes(':') || path.startsWith('/me'))
  const statuses = [
    400,
    401,
    ...('anyCaller' in permission ? [] : [403]),
    ...(finds ? [404] : []),
    ...(writes ? [409, 507] : []),
    ...(writes && method !== 'POST' ? [412] : []),
    ...(method === 'GET' ? [] : [413]),
    ...(body && surface === 'masking' ? [415] : []),
    429,
    500,
    503,
    ...errors,
  ]
  return statuses.toSorted((one, other) => one - other)
}

export function referToError(surface: Surface, status: number): object {
  return { $ref: `#/components/responses/${surface}${status}` }
}

/** Every error status of both APIs, with the codes that it comes with. */
export function describeErrors(): Record<string, object> {
  const responses: Record<string, object> = {}
  for (const surface of ['masking', 'directory'] as const) {
    const byStatus = Map.groupBy(
      problemsOf[surface].map((kind) => ({ ...kind, ...kind[surface] })),
      ({ status }) => status,
    )
    for (const [status, kinds] of byStatus)
      responses[`${surface}${status}`] = describeError(surface, status, kinds)
  }
  return responses
}

const headers: Readonly<Record<number, object>> = {
  401: { 'WWW-Authenticate': { schema: { type: 'string' } } },
  410: { Location: { schema: { type: 'string', format: 'uri' } } },
  429: { 'Retry-After': { schema: { type: 'integer' } } },
}

function describeError(surface: Surface, status: number, kinds: readonly Kind[]): object {
  const codes = [...new Set(kinds.map(({ code }) => code))].toSorted()
  const messages = [...new Set(kinds.map(({ message }) => `- ${message}`))]
  const [first] = kinds
  const schema = errorSchema(surface, status, codes)
  const example = makeError(surface, first?.code ?? '', first?.message ?? '')
  return {
    description: `One of:\n\n${messages.join('\n')}`,
    ...(headers[status] && { headers: headers[status] }),
    content: { 'application/json': { schema, examples: { usual: { value: example } } } },
  }
}

function errorSchema(surface: Surface, status: number, codes: readonly string[]): object {
  const detail = {
    type: 'object',
    required: ['code', 'message'],
    properties: { code: { type: 'string' }, message: { type: 'string' }, target: { type: 'string' } },
  }
  const isDirectory = surface === 'directory'
  return {
    type: 'object',
    title: `${surface}Error${status}`,
    required: ['error'],
    properties: {
      error: {
        type: 'object',
        required: ['code', 'message', ...(isDirectory ? ['innerError'] : [])],
        properties: {
          code: { type: 'string', enum: codes },
          message: { type: 'string' },
          ...(!isDirectory && { target: { type: 'string' } }),
          details: { type: 'array', items: detail },
          ...(isDirectory && { innerError: innerErrorSchema }),
        },
      },
    },
  }
}

const innerErrorSchema = {
  type: 'object',
  title: 'innerError',
  required: ['date', 'request-id', 'client-request-id'],
  properties: {
    date: { type: 'string', description: 'In UTC, without a zone.' },
    'request-id': { type: 'string', format: 'uuid' },
    'client-request-id': { type: 'string' },
  },
}

function makeError(surface: Surface, code: string, message: string): object {
  const id = '7c2d1f0a-3b54-4f0e-9d16-52a8f3c1b7e4'
  const innerError = { date: '2026-11-15T10:17:06', 'request-id': id, 'client-request-id': id }
  return { error: { code, message, ...(surface === 'directory' && { innerError }) } }
}
