import { type TSchema, Type } from 'typebox'
import { addresses } from '../addresses/addresses.ts'
import { targetNames } from '../extensions/custom-properties.ts'
import { relations } from '../membership/relations.ts'
import type { Described, Properties } from './property.ts'
import { annotationNames, valueSchema } from './value-schema.ts'

/** `getUser`, `listUsers`. */
export function nameOperation(verb: string, noun: string): string {
  return verb + noun.charAt(0).toUpperCase() + noun.slice(1)
}

/** The words of a name: `servicePrincipals` as `service principals`. */
export function wordsOf(name: string): string {
  return name.replaceAll(/(?<=[a-z0-9])[A-Z]/g, (letter) => ` ${letter}`).toLowerCase()
}

export function withArticle(words: string): string {
  return words === 'me' ? 'the signed-in user' : `${/^[aeio]/.test(words) ? 'an' : 'a'} ${words}`
}

export const context = Type.String({
  format: 'uri',
  description: 'Where the type of the answer is described.',
})
export const link = Type.Optional(Type.String({ format: 'uri' }))
const annotation = Type.Optional(Type.String())

/** The answer of a `/$count`: a number as plain text. */
export const countSchema = Type.Integer({ contentMediaType: 'text/plain', minimum: 0, examples: [42] })

export const extensionSchema = Type.Object(
  {
    '@odata.context': annotation,
    '@odata.type': Type.String(),
    id: Type.String(),
    extensionName: Type.String(),
  },
  {
    title: 'openTypeExtension',
    additionalProperties: true,
    examples: [
      {
        '@odata.type': '#vendor.graph.openTypeExtension',
        id: 'com.example.badge',
        extensionName: 'com.example.badge',
        colour: 'green',
      },
    ],
  },
)

/** An object of any kind: which other properties it has depends on its type. */
export const objectSchema = Type.Object(
  {
    '@odata.context': annotation,
    '@odata.type': annotation,
    '@odata.etag': annotation,
    id: Type.Optional(Type.String({ format: 'uuid' })),
  },
  {
    title: 'directoryObject',
    additionalProperties: true,
    examples: [{ '@odata.type': '#vendor.graph.user', id: '10000000-0000-4000-8000-000000000001' }],
  },
)

/** The names of properties that extension definitions add to a kind. */
const definedNames = '^[A-Za-z][A-Za-z0-9]*_\\w+$'

/**
 * The body to create or update an entity. `body` checks next to nothing: requests are checked by the table of properties,
 * for its messages. `describedBody` says what that table takes. `more` are properties that the table does not have.
 */
export function bodyOf(
  described: Described,
  what: 'creation' | 'update',
  more: Readonly<Record<string, TSchema>> = {},
) {
  return {
    body: Type.Unsafe<Record<string, never>>(Type.Object({})),
    describedBody: describeBody(described, what, more),
  }
}

const updateRules = [
  'Null clears a property or a member of a complex value; those that are left out stay.',
  'Collections are replaced whole. Read-only properties with their present values are ignored.',
].join(' ')

function describeBody(
  { kind, noun, properties, example = {} }: Described,
  what: 'creation' | 'update',
  more: Readonly<Record<string, TSchema>>,
): TSchema {
  const isCreation = what === 'creation'
  const refused = isCreation ? 'elsewhere' : 'creation'
  const writable = Object.entries(properties).filter(
    ([, { write }]) => write === undefined || (write !== 'never' && write !== refused),
  )
  const sent = writable.map(([name, property]) => {
    const isRequired = isCreation && property.required === true
    const isNullable = isCreation ? !isRequired : property.nullable !== false
    const schema = valueSchema(property, 'sent', isNullable)
    return [name, isRequired ? schema : Type.Optional(schema)] as const
  })
  const names = new Set(writable.map(([name]) => name))
  const ignored = Object.keys(properties).filter((name) => !names.has(name))
  const chosen = Object.entries(example).filter(([name]) => names.has(name) || name in more)
  return Type.Object(
    { ...Object.fromEntries(sent), ...more },
    {
      title: nameOperation(isCreation ? 'new' : 'changed', kind),
      description: isCreation
        ? `A new ${noun}. Read-only properties that are null or have their default are ignored.`
        : `Changes to a ${noun}. ${updateRules}`,
      additionalProperties: false,
      patternProperties: {
        [`${annotationNames}|^(?:${ignored.join('|')})$`]: {},
        ...(hasDefined(kind) && { [definedNames]: {} }),
      },
      ...(chosen.length > 0 && { examples: [Object.fromEntries(isCreation ? chosen : chosen.slice(0, 1))] }),
    },
  )
}

/** An entity in an answer. No property is required: `$select` chooses among them. */
export function entitySchema(resource: Described & { readonly schema?: TSchema }): TSchema {
  return resource.schema ?? describeEntity(resource, resource.kind, {})
}

/** An entity in a delta: those that are gone have their id and the reason alone. */
export function deltaSchema(resource: Described): TSchema {
  const removed = Type.Optional(Type.Object({ reason: Type.Unsafe({ enum: ['changed', 'deleted'] }) }))
  const member = Type.Object({
    '@odata.type': Type.String(),
    id: Type.String({ format: 'uuid' }),
    '@removed': removed,
  })
  return describeEntity(resource, `${resource.kind}Delta`, {
    '@removed': removed,
    ...(resource.kind === 'group' && { 'members@delta': Type.Optional(Type.Array(member)) }),
  })
}

function describeEntity(
  { kind, properties, isVeiled, example }: Described,
  title: string,
  more: Readonly<Record<string, TSchema>>,
): TSchema {
  const shown = Object.entries(properties).map(([name, property]) => {
    // Selected by name, it is shown to have a value or not as little as what it is.
    if (property.secret) return [name, Type.Optional(Type.Null())] as const
    const isKnown = name === 'id' || property.default !== undefined
    const isNullable = !isKnown || (isVeiled === true && name !== 'id' && property.type !== 'strings')
    return [name, Type.Optional(valueSchema(property, 'shown', isNullable))] as const
  })
  const expanded = namesToExpand(kind)
  const related = expanded.map((name) => [name, Type.Optional(relationSchema(name))] as const)
  return Type.Object(
    {
      '@odata.context': Type.Optional(context),
      '@odata.type': annotation,
      '@odata.etag': annotation,
      ...more,
      ...Object.fromEntries([...shown, ...related]),
    },
    {
      title,
      patternProperties: {
        ...(expanded.length > 0 && { '^\\w+@odata\\.nextLink$': { type: 'string', format: 'uri' } }),
        ...(hasDefined(kind) && { [definedNames]: {} }),
      },
      ...(example && { examples: [{ id: exampleId, ...withoutSecrets(properties, example) }] }),
    },
  )
}

const exampleId = '10000000-0000-4000-8000-000000000001'

function withoutSecrets(properties: Properties, example: object): object {
  return Object.fromEntries(
    Object.entries(example).filter(([name]) => properties[name] && !properties[name].secret),
  )
}

/** True for kinds for which applications can define more properties. */
function hasDefined(kind: string): boolean {
  return Object.hasOwn(targetNames, kind)
}

/** The navigation properties that `$expand` can add to an entity. */
function namesToExpand(kind: string): string[] {
  const isExtensible = Object.values(addresses).some((one) => one.extensible && one.kind === kind)
  const names = relations
    .filter(({ from, path, transitive }) => from === kind && path.endsWith('/:id') && !transitive)
    .map(({ name }) => name)
  return isExtensible ? [...names, 'extensions'] : names
}

/** Only a person's manager is one object. */
function relationSchema(name: string): TSchema {
  if (name === 'extensions') return Type.Array(extensionSchema)
  return name === 'manager' ? objectSchema : Type.Array(objectSchema)
}

export function listSchema(resource: Described): TSchema {
  return collectionSchema(entitySchema(resource), `${resource.kind}Collection`)
}

export function collectionSchema(item: TSchema, title?: string): TSchema {
  return Type.Object(
    {
      '@odata.context': context,
      '@odata.count': Type.Optional(Type.Integer()),
      '@odata.nextLink': link,
      value: Type.Array(item),
    },
    title === undefined ? {} : { title },
  )
}
