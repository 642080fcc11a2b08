import { fail } from '../../kernel/problem.ts'

export const extensionType = 'vendor.graph.openTypeExtension'

/** The names of the type that the original service and its clients use; any may begin a fully qualified name. */
const typeNames = [
  extensionType,
  'microsoft.graph.openTypeExtension',
  'graph.openTypeExtension',
  'microsoft.outlookServices.openTypeExtension',
].map((name) => name.toLowerCase())

const nameForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,119}$/

/** Refuses characters that have a meaning in a path, where names appear. */
export function readNewName(name: string): string {
  if (!nameForm.test(name) || qualifierOf(name) !== undefined)
    fail('InvalidPropertyValue', { property: 'extensionName', resource: 'OpenTypeExtension' })
  return name
}

/** The name within `{extensionId}`, which may be fully qualified. */
export function nameOf(extensionId: string): string {
  return extensionId.slice(qualifierOf(extensionId)?.length ?? 0)
}

export function qualify(name: string): string {
  return `${extensionType}.${name}`
}

/** Names are compared without regard to case. */
export function isSameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}

export function isExtensionType(type: string): boolean {
  return typeNames.includes(type.replace(/^#/, '').toLowerCase())
}

function qualifierOf(extensionId: string): string | undefined {
  const lowered = extensionId.toLowerCase()
  return typeNames.map((type) => `${type}.`).find((qualifier) => lowered.startsWith(qualifier))
}

/** True for `extension_<appId>_<name>` and `<domain>_<name>`; properties of the tables have no underscore. */
export function isDefinitionName(name: string): boolean {
  return /^[A-Za-z0-9]+_\w+$/.test(name)
}
