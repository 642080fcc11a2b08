import type { TSchema } from 'typebox'
import { Compile, type Validator } from 'typebox/compile'
import type { Operation } from '../api/operation.ts'
import { parseMetered } from '../kernel/json.ts'
import { fail } from '../kernel/problem.ts'
import type { ApiRequest } from './exchange.ts'
import { keyNamesOf } from './key-names.ts'

const validators = new WeakMap<TSchema, Validator>()

/** Reads the body that the operation asks for. Comes after the permission check: strangers learn nothing of our rules. */
export function readBody(operation: Operation, request: ApiRequest): unknown {
  const { body: text } = request
  if (!operation.body) {
    // Client libraries send an empty object with every POST.
    const isNothing = text.trim() === '' || (operation.method === 'POST' && /^\s*\{\s*\}\s*$/.test(text))
    if (!isNothing && operation.method !== 'GET') fail('UnexpectedPayload')
    return undefined
  }
  const encoding = request.headers['content-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    fail('UnsupportedMediaType', { mediaType: `encoded as ${encoding.slice(0, 50)}` })
  const type = request.headers['content-type']
  if (type !== undefined && !isJson(type)) fail('UnsupportedMediaType', { mediaType: type.slice(0, 100) })
  if (text.trim() === '') fail('EmptyPayload')
  if (type === undefined && !operation.contentTypeOptional) fail('UnsupportedMediaType', { mediaType: '' })
  const value = parseMetered(text, operation.bodyLimits ? keyNamesOf(operation.body) : null)
  check(operation.body, value)
  return value
}

export function isJson(contentType: string): boolean {
  if (contentType === 'application/json') return true
  const [type, ...parameters] = contentType.toLowerCase().split(';')
  const charset = parameters
    .map((parameter) => parameter.trim())
    .find((parameter) => parameter.startsWith('charset='))
  if (charset && !/^charset="?utf-?8"?$/.test(charset)) return false
  return /^application\/(json|[\w.+-]+\+json)$/.test(type?.trim() ?? '')
}

export function check(schema: TSchema, value: unknown): void {
  let validator = validators.get(schema)
  if (!validator) {
    validator = Compile(schema)
    validators.set(schema, validator)
  }
  if (validator.Check(value)) return
  const errors = [...validator.Errors(value)]
  // Each property too many is an error of its own, and one error names them all where the list of errors has room for it.
  const others = errors.filter(({ keyword }) => keyword !== 'boolean')
  const faults = (others.length > 0 ? others : errors).map(explain)
  const first = faults[0] ?? { target: '', reason: 'does not have the expected form' }
  fail(
    'InvalidRequestContent',
    { reason: sentence(first) },
    {
      target: first.target,
      ...(faults.length > 1 && {
        details: faults.map((fault) => ({
          code: 'InvalidValue',
          message: sentence(fault),
          target: fault.target,
        })),
      }),
    },
  )
}

interface Fault {
  readonly target: string
  readonly reason: string
}

function sentence({ target, reason }: Fault): string {
  return target === '' ? `The body ${reason}.` : `'${target}' ${reason}.`
}

interface ValidationError {
  readonly keyword: string
  readonly instancePath: string
  readonly params: object
  readonly message: string
}

function explain({ keyword, instancePath, params, message }: ValidationError): Fault {
  const target = instancePath
    .slice(1)
    .replaceAll('/', '.')
    .replaceAll('~1', '/')
    .replaceAll('~0', '~')
    .slice(0, 200)
  const named = params as Record<string, unknown>
  const inner = (names: unknown) =>
    [target, String((names as unknown[])[0]).slice(0, 100)].filter(Boolean).join('.')
  switch (keyword) {
    case 'boolean':
      return { target, reason: 'is not a property of this resource' }
    case 'additionalProperties':
      return { target: inner(named.additionalProperties), reason: 'is not a property of this resource' }
    case 'required':
      return { target: inner(named.requiredProperties), reason: 'is required' }
    case 'type':
      return { target, reason: `must be of type ${[named.type].flat().join(' or ')}` }
    case 'enum':
      return {
        target,
        reason: `must be one of ${(named.allowedValues as unknown[]).filter((value) => value !== null).join(', ')}`,
      }
    default:
      return { target, reason: message }
  }
}
