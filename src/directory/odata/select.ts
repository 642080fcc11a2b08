import { fail } from '../../kernel/problem.ts'
import type { Described } from '../entities/property.ts'
import { namespace } from '../entities/show-entity.ts'
import { isDefinitionName } from '../extensions/extension-name.ts'

/** The properties that `$select` names, in the spelling of the resource; undefined for the default set. */
export function readSelect(
  text: string | undefined,
  resources: readonly Pick<Described, 'kind' | 'properties'>[],
): readonly string[] | undefined {
  if (text === undefined) return undefined
  const known = new Map(
    resources.flatMap(({ properties }) => Object.keys(properties)).map((name) => [name.toLowerCase(), name]),
  )
  const names = text.split(',').map((name) => name.trim())
  if (names.includes('*')) return undefined
  const selected = names.map((name) => {
    if (name === '') fail('InvalidQueryOption', { option: '$select', reason: 'has an empty name' })
    if (isDefinitionName(name)) return name
    return known.get(name.toLowerCase()) ?? failUnknown(name, resources)
  })
  return [...new Set(selected)]
}

function failUnknown(name: string, [resource]: readonly Pick<Described, 'kind'>[]): never {
  const type = `${namespace}.${resource?.kind ?? 'directoryObject'}`
  return fail('UnknownPropertyInQuery', { property: name.slice(0, 200), type })
}
