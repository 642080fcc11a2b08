import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import type { Answer, Operation } from '../../src/api/operation.ts'
import { directoryRoom } from '../../src/directory/room.ts'

interface Member {
  readonly $Kind?: string
  readonly $Type?: string
  readonly $Collection?: boolean
  readonly $ReturnType?: Member
  readonly $Parameter?: readonly (Member & { readonly $Name: string })[]
}
type Type = Member & { readonly $BaseType?: string; readonly [name: string]: unknown }
type Schema = Readonly<Record<string, Type | readonly Member[]>>
type Reader = {
  xml2json(xml: string, options: { strict: boolean; messages: unknown[] }): Record<string, Schema>
}

/** The reader of CSDL that the authors of the standard publish. */
const { xml2json } = createRequire(import.meta.url)('odata-csdl') as Reader

const { operations } = directoryRoom({} as never)
const namespace = 'vendor.graph'

async function readSchema(): Promise<Schema> {
  const answers = operations.map(async ({ name, run }) =>
    name === 'getMetadata' ? await run({} as never, undefined) : undefined,
  )
  const body = (await Promise.all(answers)).find((answer): answer is Answer => answer !== undefined)?.body
  const messages: unknown[] = []
  const document = xml2json(String(body), { strict: true, messages })
  assert.deepEqual(messages, [])
  return document[namespace] ?? {}
}

/** What a path leads to. */
interface Place {
  readonly type: string
  readonly collection: boolean
  /** An action or function was called: nothing follows. */
  readonly isCalled?: true
}

class Walker {
  readonly schema: Schema
  /** Every description that a path used. */
  readonly used = new Set<string>()

  constructor(schema: Schema) {
    this.schema = schema
  }

  /** The place that a path leads to; fails where the description does not lead on. */
  walk(path: string): Place {
    const [first = '', ...rest] = path.slice(1).split('/')
    const start = this.member('GraphService', first)
    assert.ok(start?.$Type, `${path}: there is no set '${first}'`)
    this.used.add(`GraphService/${first}`)
    const isSet = start.$Collection === true
    return rest.reduce<Place>((place, segment) => this.step(place, segment, path), {
      type: short(start.$Type),
      collection: isSet,
    })
  }

  step(place: Place, segment: string, path: string): Place {
    if (segment === '$count' || segment === '$ref') return place
    const cast = /^(?:vendor\.|microsoft\.)?graph\.(\w+)$/.exec(segment)?.[1]
    if (cast) {
      assert.ok(this.typeOf(cast), `${path}: there is no type '${cast}'`)
      return { ...place, type: cast }
    }
    if (segment === ':cast') return place
    if (segment.startsWith(':')) {
      assert.ok(place.collection, `${path}: a key behind one entity`)
      return { ...place, collection: false }
    }
    const call = this.findCall(place, segment)
    if (call) return call
    assert.ok(!place.collection, `${path}: '${segment}' behind a collection of ${place.type}`)
    const found = this.findLink(place.type, segment)
    assert.ok(found, `${path}: '${place.type}' leads to no '${segment}'`)
    return found
  }

  findLink(type: string, name: string): Place | undefined {
    const member = this.member(type, name)
    if (member?.$Kind !== 'NavigationProperty') return undefined
    this.used.add(`${type}/${name}`)
    return { type: short(member.$Type ?? ''), collection: member.$Collection === true }
  }

  /** An action or function that is bound to the type or to one of its bases. */
  findCall({ type, collection }: Place, name: string): Place | undefined {
    const overloads = this.schema[name]
    if (!Array.isArray(overloads)) return undefined
    for (let one: string | undefined = type; one; one = this.baseOf(one)) {
      const fitting = (overloads as readonly Member[]).find(({ $Parameter: [on] = [] }) => {
        return short(on?.$Type ?? '') === one && (on?.$Collection === true) === collection
      })
      if (!fitting) continue
      this.used.add(`${name}(${collection ? 'collection of ' : ''}${one})`)
      const { $ReturnType: result } = fitting
      return { type: short(result?.$Type ?? ''), collection: result?.$Collection === true, isCalled: true }
    }
    return undefined
  }

  typeOf(name: string): Type | undefined {
    const type = this.schema[name]
    return type && !Array.isArray(type) ? (type as Type) : undefined
  }

  baseOf(name: string): string | undefined {
    const base = this.typeOf(name)?.$BaseType
    return base === undefined ? undefined : short(base)
  }

  member(type: string, name: string): Member | undefined {
    return this.typeOf(type)?.[name] as Member | undefined
  }

  propertiesOf(name: string): string[] {
    const base = this.baseOf(name)
    const own = Object.entries(this.typeOf(name) ?? {})
      .filter(([key, value]) => !key.startsWith('$') && (value as Member).$Kind !== 'NavigationProperty')
      .map(([key]) => key)
    return [...(base ? this.propertiesOf(base) : []), ...own]
  }

  /** Every set, link, action and function of the description. */
  listDescribed(): string[] {
    return Object.entries(this.schema).flatMap(([name, type]) => {
      if (Array.isArray(type))
        return (type as readonly Member[]).map(({ $Parameter: [on] = [] }) => {
          return `${name}(${on?.$Collection ? 'collection of ' : ''}${short(on?.$Type ?? '')})`
        })
      const isContainer = (type as Type).$Kind === 'EntityContainer'
      return Object.entries(type as Readonly<Record<string, Member>>)
        .filter(
          ([key, value]) => !key.startsWith('$') && (isContainer || value.$Kind === 'NavigationProperty'),
        )
        .map(([key]) => `${name}/${key}`)
    })
  }
}

function short(name: string): string {
  return name.replace(`${namespace}.`, '')
}

/** Paths that are about no entity. */
const others = ['/$batch', '/$metadata']

function pathsOf({ paths }: Operation<never>): string[] {
  return paths.filter((path) => !others.includes(path))
}

/** The names of the properties in an answer with one entity, or in a list of them. */
/** Null in every answer that selects them, and no properties of a type. */
const secrets = ['passwordProfile']

function answeredBy({ answers }: Operation<never>): string[] | undefined {
  const schema = (answers[200] ?? answers[201]) as { properties?: Record<string, { items?: object }> } | null
  const one = (schema?.properties?.value?.items ?? schema) as { properties?: object } | null
  return one?.properties && Object.keys(one.properties).filter((name) => !name.includes('@'))
}

test('every path of the directory is described by $metadata', async () => {
  const walker = new Walker(await readSchema())
  for (const operation of operations) for (const path of pathsOf(operation)) walker.walk(path)
})

test('$metadata describes no set, link, action or function that is not served', async () => {
  const walker = new Walker(await readSchema())
  for (const operation of operations) for (const path of pathsOf(operation)) walker.walk(path)
  assert.deepEqual(
    walker.listDescribed().filter((name) => !walker.used.has(name)),
    [],
  )
})

test('answers have the properties that $metadata gives their types, and no others', async () => {
  const walker = new Walker(await readSchema())
  const compared = new Set<string>()
  for (const operation of operations) {
    const answered = answeredBy(operation)
    const [path] = pathsOf(operation)
    if (!answered || !path) continue
    const { type } = walker.walk(path)
    // Relations lead to objects of several types: their answers are described by the id alone.
    if (walker.typeOf(type)?.$Kind === undefined || answered.join() === 'id') continue
    if (type === 'directoryObject' || type === 'extension') continue
    compared.add(type)
    // What `$expand` adds is a link of the type.
    const own = answered.filter((name) => !walker.findLink(type, name) && !secrets.includes(name))
    assert.deepEqual(own.toSorted(), walker.propertiesOf(type).toSorted(), `${operation.name}: ${type}`)
  }
  const entities = Object.entries(walker.schema)
    .filter(([name, type]) => (type as Type).$Kind === 'EntityType' && walker.propertiesOf(name).length > 0)
    .map(([name]) => name)
  const general = ['directoryObject', 'extension', 'openTypeExtension']
  assert.deepEqual(
    entities.filter((name) => !compared.has(name) && !general.includes(name)),
    [],
  )
})

test('an action has the parameters that its operation takes', async () => {
  const { schema } = new Walker(await readSchema())
  for (const [name, overloads] of Object.entries(schema)) {
    if (!Array.isArray(overloads)) continue
    const operation = operations.find(({ paths }) => paths.some((path) => path.endsWith(`/${name}`)))
    const taken = Object.keys((operation?.body as { properties?: object } | undefined)?.properties ?? {})
    for (const { $Parameter: [, ...parameters] = [] } of overloads as readonly Member[])
      assert.deepEqual(
        parameters.map(({ $Name }) => $Name),
        taken,
        name,
      )
  }
})
