import { randomInt } from 'node:crypto'
import { type Static, Type } from 'typebox'
import { fail } from '../../../kernel/problem.ts'
import { isUuid } from '../../../kernel/uuid.ts'
import type { Stored } from '../../entities/property.ts'
import { isStorableText } from '../../entities/storable.ts'
import { typedObject } from '../../entities/type-names.ts'
import { targetNames } from '../custom-properties.ts'
import type { DataType } from '../data-types.ts'

type Status = 'InDevelopment' | 'Available' | 'Deprecated'
type Field = { readonly name: string; readonly type: DataType }

/** A schema extension: a complex property with typed fields, for some kinds of resources. */
export interface SchemaExtension extends Stored {
  readonly properties: {
    readonly description: string | null
    readonly targetTypes: readonly string[]
    readonly status: Status
    /** The appId of the application that may change the definition. */
    readonly owner: string
    readonly properties: readonly Field[]
  }
}

export type Definition = SchemaExtension['properties']

const maxFields = 100
const types: readonly DataType[] = ['Binary', 'Boolean', 'DateTime', 'Integer', 'String']

const description = Type.Optional(Type.Union([Type.String({ maxLength: 1024 }), Type.Null()]))
const sentTargets = Type.Array(Type.String(), { minItems: 1, maxItems: 20 })
const sentFields = Type.Array(
  typedObject(['extensionSchemaProperty', 'schemaExtension_properties'], {
    name: Type.String(),
    type: Type.String(),
  }),
  { minItems: 1, maxItems: maxFields },
)

export const newSchemaExtension = typedObject(['schemaExtension'], {
  id: Type.String(),
  description,
  owner: Type.Optional(Type.String()),
  targetTypes: sentTargets,
  properties: sentFields,
})

export const changedSchemaExtension = typedObject(['schemaExtension'], {
  id: Type.Optional(Type.String()),
  owner: Type.Optional(Type.String()),
  description,
  status: Type.Optional(Type.String()),
  targetTypes: Type.Optional(sentTargets),
  properties: Type.Optional(sentFields),
})

/** The definition that a body creates, of the application `owner` unless the body names another. */
export function readNewDefinition(
  body: Static<typeof newSchemaExtension>,
  caller: { readonly applicationId: string },
): Definition & { readonly id: string } {
  const owner = body.owner ?? caller.applicationId
  if (!isUuid(owner)) failValue('owner')
  return {
    id: completeId(body.id),
    description: readDescription(body.description ?? null),
    owner: owner.toLowerCase(),
    status: 'InDevelopment',
    targetTypes: readTargetTypes(body.targetTypes),
    properties: readFields(body.properties),
  }
}

/** The definition after a change. Resources may rely on what it has: targets and fields are added, never removed. */
export function changeDefinition(
  { id, properties: before }: SchemaExtension,
  sent: Static<typeof changedSchemaExtension>,
): Definition {
  if (sent.id !== undefined && sent.id !== id) failValue('id')
  if (sent.owner !== undefined && sent.owner.toLowerCase() !== before.owner) failValue('owner')
  return {
    ...before,
    description: sent.description === undefined ? before.description : readDescription(sent.description),
    status: sent.status === undefined ? before.status : nextStatus(before.status, sent.status),
    targetTypes: [...new Set([...before.targetTypes, ...readTargetTypes(sent.targetTypes ?? [])])],
    properties: [...before.properties, ...readAddedFields(before.properties, sent.properties ?? [])],
  }
}

const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789'

/** `<domain>_<name>` as it was sent, or a name alone with a random prefix. */
function completeId(sent: string): string {
  if (/^[a-z][a-z0-9]{0,62}_[A-Za-z][A-Za-z0-9_]{0,63}$/.test(sent) && !sent.startsWith('extension_'))
    return sent
  if (!/^[A-Za-z][A-Za-z0-9]{0,63}$/.test(sent)) return failValue('id')
  const random = Array.from({ length: 8 }, () => alphabet[randomInt(alphabet.length)]).join('')
  return `ext${random}_${sent}`
}

function readDescription(text: string | null): string | null {
  return text === null || isStorableText(text) ? text : failValue('description')
}

/** A definition that is available can be deprecated and made available again, but never goes back into development. */
const nextOf: Readonly<Record<Status, readonly Status[]>> = {
  InDevelopment: ['InDevelopment', 'Available'],
  Available: ['Available', 'Deprecated'],
  Deprecated: ['Deprecated', 'Available'],
}

function nextStatus(status: Status, sent: string): Status {
  return nextOf[status].find((next) => next === sent) ?? failValue('status')
}

const targetsByName = new Map(
  [...Object.values(targetNames), 'AdministrativeUnit']
    .filter((name) => name !== 'Application')
    .map((name) => [name.toLowerCase(), name]),
)

function readTargetTypes(sent: readonly string[]): string[] {
  const read = sent.map((name) => targetsByName.get(name.toLowerCase()) ?? failValue('targetTypes'))
  return [...new Set(read)]
}

function readFields(sent: readonly { name: string; type: string }[]): Field[] {
  const names = new Set(sent.map(({ name }) => name.toLowerCase()))
  if (names.size !== sent.length) failValue('properties')
  return sent.map(({ name, type }) => {
    const known = types.find((candidate) => candidate === type)
    if (!/^[A-Za-z][A-Za-z0-9_]{0,127}$/.test(name) || !known) return failValue('properties')
    return { name, type: known }
  })
}

function readAddedFields(before: readonly Field[], sent: readonly { name: string; type: string }[]): Field[] {
  return readFields(sent).filter(({ name, type }) => {
    const known = before.find((field) => field.name.toLowerCase() === name.toLowerCase())
    if (known && (known.name !== name || known.type !== type)) failValue('properties')
    return !known
  })
}

function failValue(property: string): never {
  return fail('InvalidPropertyValue', { property, resource: 'SchemaExtension' }, { target: property })
}
