import { randomUUID } from 'node:crypto'
import { parseJson } from '../../kernel/json.ts'
import { fail, Problem } from '../../kernel/problem.ts'
import { isUuid, uuidPattern } from '../../kernel/uuid.ts'
import { checkAppRoles } from '../app-roles/app-roles.ts'
import type { Json, JsonObject } from '../entities/property.ts'
import { failValue } from '../entities/read-properties.ts'
import { readValue } from '../entities/read-value.ts'
import { isJsonObject, isStorableJson } from '../entities/storable.ts'
import { isDataType } from '../extensions/data-types.ts'
import { checkSize, readNewExtension } from '../extensions/extension-data.ts'
import { extensionType, isDefinitionName } from '../extensions/extension-name.ts'
import { checkTogether, refuseDynamic } from '../objects/group-rules.ts'
import type { ObjectKind, Resource } from '../objects/kinds/resource.ts'
import { isObjectKind, resources } from '../objects/kinds/resources.ts'
import { findRoleTemplate } from '../objects/role-templates.ts'

/** Shown with an application, but of no use without the secrets, which never leave the directory. */
export const notTransferred = ['passwordCredentials', 'keyCredentials']

/** The content of one line of a file. */
export type Entry =
  | ObjectEntry
  | { readonly type: 'member'; readonly containerId: string; readonly memberId: string }
  | { readonly type: 'namedMember'; readonly group: string; readonly member: string }
  | { readonly type: 'directoryRole'; readonly roleTemplateId: string }
  | { readonly type: 'roleMember'; readonly roleTemplateId: string; readonly memberId: string }
  | { readonly type: 'owner'; readonly objectId: string; readonly ownerId: string }
  | ExtensionEntry
  | { readonly type: 'extensionProperty' | 'schemaExtension'; readonly definition: JsonObject }

export interface ObjectEntry {
  readonly type: 'object'
  readonly kind: ObjectKind
  readonly id: string
  readonly createdDateTime: string | null
  readonly properties: JsonObject
  /** Names that only an extension definition can explain. */
  readonly custom: readonly string[]
  /** False: the id was made here, and the object may be one that the directory has by name. */
  readonly hasId: boolean
  /** Properties that the line clears with null. */
  readonly cleared: readonly string[]
  /** Properties that a new object gets beside those of the line. */
  readonly defaults: JsonObject
  /** Why the object cannot be new; null: it can. */
  readonly missing: string | null
  /** The first password of a new user. */
  readonly initialPassword: string | undefined
}

export interface ExtensionEntry {
  readonly type: 'extension'
  readonly objectId: string
  readonly name: string
  readonly applicationId: string
  readonly data: JsonObject
}

// Most lines of a large file look exactly so; they need no parser.
const usualMember = new RegExp(
  `^\\{"type":"member","group":"(${uuidPattern})","member":"(${uuidPattern})"\\}\\r?$`,
)

export function readEntry(text: string): Entry {
  const [, containerId, memberId] = usualMember.exec(text) ?? []
  if (containerId && memberId) return { type: 'member', containerId, memberId }
  const line = parseJson(text)
  if (!isJsonObject(line)) return fail('InvalidRequestContent', { reason: 'The line is no JSON object.' })
  return readObjectEntry(line)
}

/** A membership by names, as files for people have it. */
export function readNamedEntry(line: JsonObject): Entry {
  const { type, group, member } = line
  const isByName =
    type === 'member' && [group, member].some((name) => typeof name === 'string' && !isUuid(name))
  return isByName
    ? { type: 'namedMember', group: String(group ?? ''), member: String(member ?? '') }
    : readObjectEntry(line)
}

function readObjectEntry(line: JsonObject): Entry {
  const { type } = line
  switch (type) {
    case 'member':
      return { type, containerId: readId(line, 'group'), memberId: readId(line, 'member') }
    case 'directoryRole':
      return { type, roleTemplateId: readTemplate(line) }
    case 'roleMember':
      return { type, roleTemplateId: readTemplate(line), memberId: readId(line, 'member') }
    case 'owner':
      return { type, objectId: readId(line, 'object'), ownerId: readId(line, 'owner') }
    case 'extension':
      return readExtension(line)
    case 'extensionProperty':
    case 'schemaExtension':
      return { type, definition: readDefinition(type, line) }
    default:
      if (typeof type === 'string' && isObjectKind(type) && type !== 'organization')
        return readObject(type, line)
      return fail('InvalidRequestContent', { reason: "'type' is missing or not known." })
  }
}

function readObject(kind: ObjectKind, { type: _, ...line }: JsonObject): ObjectEntry {
  const resource = resources[kind]
  const { id, createdDateTime, deletedDateTime, ...others } = line
  const { initialPassword, ...rest } = kind === 'user' ? others : { ...others, initialPassword: undefined }
  if (deletedDateTime !== undefined && deletedDateTime !== null) failValue(resource, 'deletedDateTime')
  const properties: Record<string, Json> = {}
  const custom: string[] = []
  const cleared: string[] = []
  for (const [name, value] of Object.entries(rest)) {
    if (name.startsWith('@odata.') || value === undefined) continue
    if (notTransferred.includes(name)) fail('ReadOnlyProperty', { property: name })
    if (value !== null) properties[name] = readProperty(resource, name, value, custom)
    else if (canBeCleared(resource, name)) cleared.push(name)
  }
  const defaults = chooseDefaults(kind, properties)
  if (kind === 'group') {
    checkTogether(properties, { ...defaults, ...properties })
    refuseDynamic(properties)
  }
  if (kind === 'application') checkAppRoles(properties)
  return {
    type: 'object',
    kind,
    id: id === undefined ? randomUUID() : readId(line, 'id'),
    createdDateTime: createdDateTime === undefined ? null : readTime(resource, createdDateTime),
    properties,
    custom,
    hasId: id !== undefined,
    cleared,
    defaults,
    missing: findMissing(resource, { ...defaults, ...properties }),
    initialPassword: readInitialPassword(resource, initialPassword ?? null),
  }
}

function canBeCleared({ properties }: Resource, name: string): boolean {
  const property = Object.hasOwn(properties, name) ? properties[name] : undefined
  return property ? !property.required && property.nullable !== false : isDefinitionName(name)
}

/** A new user can sign in, and a new group gives access: what a person means who says neither. */
function chooseDefaults(kind: ObjectKind, { userPrincipalName, displayName, appId }: JsonObject): JsonObject {
  if (kind === 'user')
    return { accountEnabled: true, ...nickname(String(userPrincipalName ?? '').split('@', 1)[0] ?? '') }
  if (kind === 'group')
    return { mailEnabled: false, securityEnabled: true, ...nickname(String(displayName ?? '')) }
  return kind === 'application' && appId === undefined ? { appId: randomUUID() } : {}
}

function nickname(name: string): JsonObject {
  const plain = name.replaceAll(/[^A-Za-z0-9._-]/g, '').slice(0, 64)
  return plain === '' ? {} : { mailNickname: plain }
}

function findMissing({ properties, noun }: Resource, present: JsonObject): string | null {
  const missing = Object.entries(properties).find(
    ([name, { required, secret }]) => required && !secret && present[name] === undefined,
  )
  return missing ? new Problem('PropertyRequired', { property: missing[0], resource: noun }).message : null
}

function readInitialPassword(resource: Resource, value: Json): string | undefined {
  if (value === null) return undefined
  return typeof value === 'string' && value !== '' ? value : failValue(resource, 'initialPassword')
}

function readProperty(resource: Resource, name: string, value: Json, custom: string[]): Json {
  const property = Object.hasOwn(resource.properties, name) ? resource.properties[name] : undefined
  if (property?.secret) return fail('ReadOnlyProperty', { property: name })
  if (!property) {
    if (!isDefinitionName(name) || !isStorableJson(value))
      fail('InvalidProperty', { property: name.slice(0, 200) })
    custom.push(name)
    return value
  }
  return readValue(property, value) ?? failValue(resource, name)
}

/** To the microsecond, as it is stored: an import of an export loses nothing. */
function readTime(resource: Resource, value: Json): string {
  const isTime = typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$/.test(value)
  if (!isTime || readValue({ type: 'dateTime' }, value) === undefined)
    return failValue(resource, 'createdDateTime')
  return value
}

function readId(line: JsonObject, name: string): string {
  const value = line[name]
  if (typeof value !== 'string') return fail('InvalidRequestContent', { reason: `'${name}' is missing.` })
  return isUuid(value) ? value.toLowerCase() : fail('InvalidObjectIdentifier', { id: value.slice(0, 100) })
}

function readTemplate(line: JsonObject): string {
  const id = readId(line, 'roleTemplateId')
  return findRoleTemplate(id) ? id : failValue(resources.directoryRole, 'roleTemplateId')
}

function readExtension(line: JsonObject): ExtensionEntry {
  const { data = {}, applicationId, extensionName = null } = line
  if (!isJsonObject(data) || typeof applicationId !== 'string' || !isUuid(applicationId))
    return fail('InvalidRequestContent', { reason: "'data' must be an object and 'applicationId' an id." })
  const extension = readNewExtension({ ...data, '@odata.type': extensionType, extensionName })
  checkSize(extension.data, 'object')
  const objectId = readId(line, 'object')
  return { type: 'extension', objectId, applicationId: applicationId.toLowerCase(), ...extension }
}

const statuses: readonly unknown[] = ['InDevelopment', 'Available', 'Deprecated']

function readDefinition(type: 'extensionProperty' | 'schemaExtension', line: JsonObject): JsonObject {
  const isText = (value: Json | undefined) => typeof value === 'string' && /^\w{1,120}$/.test(value)
  const areTexts = (value: Json | undefined) =>
    Array.isArray(value) && value.length > 0 && value.every(isText)
  const isGood =
    type === 'extensionProperty'
      ? isText(line.name) && isDataType(line.dataType) && areTexts(line.targetObjects)
      : isText(line.id) &&
        statuses.includes(line.status) &&
        areTexts(line.targetTypes) &&
        areFields(line.properties)
  if (!isGood || !isStorableJson(line))
    return fail('InvalidRequestContent', { reason: `This is not a complete ${type}.` })
  if (type === 'extensionProperty')
    return { ...line, id: readId(line, 'id'), application: readId(line, 'application') }
  return { ...line, owner: readId(line, 'owner') }
}

function areFields(value: Json | undefined): boolean {
  const isField = (field: Json) =>
    isJsonObject(field) && typeof field.name === 'string' && isDataType(field.type)
  return Array.isArray(value) && value.every(isField)
}
