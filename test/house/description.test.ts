import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openDescription } from '../support/described-answers.ts'

interface Content {
  readonly schema: { readonly $ref?: string }
  readonly examples?: Readonly<Record<string, { readonly $ref?: string; readonly value?: unknown }>>
}
type Contents = Readonly<Record<string, Content>>
interface Described {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly tags: readonly string[]
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  readonly parameters: readonly { readonly $ref: string }[]
  readonly requestBody?: { readonly content: Contents }
  readonly responses: Readonly<Record<string, { readonly $ref?: string; readonly content?: Contents }>>
}
interface Whole {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly components: {
    readonly parameters: Readonly<Record<string, { name: string; in: string; description?: string }>>
    readonly securitySchemes: Readonly<Record<string, { flows?: Record<string, { scopes: object }> }>>
    readonly responses: Readonly<Record<string, unknown>>
  }
}

const { document, ajv } = openDescription()
const whole = document as unknown as Whole
const operations = Object.entries(whole.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
)

function find(reference: string): unknown {
  return reference
    .slice(2)
    .split('/')
    .reduce<unknown>(
      (at, name) => (at as Record<string, unknown>)?.[name.replaceAll('~1', '/').replaceAll('~0', '~')],
      whole,
    )
}

/** Where a content of an operation stands in the document. */
function contentsOf(path: string, method: string, { requestBody, responses }: Described) {
  const place = `#/paths/${path.replaceAll('~', '~0').replaceAll('/', '~1')}/${method}`
  const answers = Object.entries(responses).flatMap(([status, { content }]) =>
    Object.entries(content ?? {}).map(([media, one]) => ({
      place: `${place}/responses/${status}`,
      media,
      one,
    })),
  )
  const sent = Object.entries(requestBody?.content ?? {}).map(([media, one]) => ({
    place: `${place}/requestBody`,
    media,
    one,
  }))
  return [...sent, ...answers]
}

describe('the description of the API', () => {
  test('refers to nothing that is not in it', () => {
    const references = new Set(
      [...JSON.stringify(whole).matchAll(/"\$ref":"(#\/[^"]+)"/g)].map(([, found = '']) => found),
    )
    assert.ok(references.size > 200)
    for (const reference of references) assert.ok(find(reference), reference)
  })

  test('has one operation for each name, and one path for each shape', () => {
    const names = operations.map(({ operation }) => operation.operationId)
    assert.deepEqual(
      names.filter((name, at) => names.indexOf(name) !== at),
      [],
    )
    const shapes = Object.keys(whole.paths).map((path) => path.replaceAll(/\{\w+\}/g, '{}').toLowerCase())
    assert.deepEqual(
      shapes.filter((shape, at) => shapes.indexOf(shape) !== at),
      [],
    )
  })

  test('lists every operation under a heading that it explains, with its words and permissions', () => {
    const headings = new Map(whole.tags.map(({ name, description }) => [name, description]))
    for (const { path, method, operation } of operations) {
      const title = `${method} ${path}`
      assert.ok(operation.summary && operation.description, title)
      for (const tag of operation.tags) assert.ok(headings.get(tag), `${title}: ${tag}`)
      assert.ok(operation.security.length > 0, title)
      for (const [scheme, scopes] of operation.security.flatMap((one) => Object.entries(one))) {
        const { flows = {} } = whole.components.securitySchemes[scheme] ?? assert.fail(scheme)
        for (const scope of scopes)
          assert.ok(
            Object.values(flows).some(({ scopes: known }) => scope in known),
            `${title}: ${scope}`,
          )
      }
    }
    const used = new Set(operations.flatMap(({ operation }) => operation.tags))
    assert.deepEqual([...headings.keys()].toSorted(), [...used].toSorted())
  })

  test('explains every parameter of a path, and describes all of them', () => {
    for (const { path, method, operation } of operations) {
      const described = operation.parameters.map(({ $ref }) => find($ref) as { name: string; in: string })
      assert.deepEqual(
        described.filter((one) => one.in === 'path').map(({ name }) => name),
        [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name),
        `${method} ${path}`,
      )
    }
    for (const [name, parameter] of Object.entries(whole.components.parameters))
      if (parameter.in === 'path') assert.ok(parameter.description, `${name} is explained nowhere`)
  })

  test('has errors of every operation, each with its shape', () => {
    for (const { path, method, operation } of operations) {
      const statuses = Object.keys(operation.responses)
      for (const status of ['400', '401', '429', '500', '503'])
        assert.ok(statuses.includes(status), `${method} ${path}: ${status}`)
      for (const [status, { $ref }] of Object.entries(operation.responses))
        if (Number(status) >= 400) assert.ok($ref && find($ref), `${method} ${path}: ${status}`)
    }
  })

  test('has an example for every body, sent and answered, that its schema takes', () => {
    const checked = new Set<string>()
    for (const { path, method, operation } of operations)
      for (const { place, media, one } of contentsOf(path, method, operation)) {
        const isNew = checked.size < checked.add(JSON.stringify(one)).size
        if (!isNew) continue
        const [example] = Object.values(one.examples ?? {})
        assert.ok(example, `${place} has no example`)
        const { value } = (example.$ref ? find(example.$ref) : example) as { value: unknown }
        const pointer = `${place}/content/${media.replace('/', '~1')}/schema`
        const validate = ajv.getSchema(`api${encodePointer(pointer)}`)
        assert.ok(validate, pointer)
        assert.ok(
          validate(value),
          `${operation.operationId} ${pointer}: ${JSON.stringify(validate.errors)} ${JSON.stringify(value)}`,
        )
      }
  })
})

function encodePointer(pointer: string): string {
  return `#${pointer.slice(1).split('/').map(encodeURIComponent).join('/')}`
}
