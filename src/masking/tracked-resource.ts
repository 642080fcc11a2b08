import { Type } from 'typebox'
import { refuseContent } from './faults.ts'
import { nullableString, optionalString } from './schemas.ts'

/** Servers and databases: resources with a place and tags of their own. */
export const trackedInput = {
  id: optionalString,
  name: optionalString,
  type: optionalString,
  kind: optionalString,
  location: optionalString,
  tags: Type.Optional(Type.Record(Type.String(), Type.String())),
}

export const trackedAnswer = {
  id: Type.String(),
  name: Type.String(),
  type: Type.String(),
  kind: nullableString,
  location: Type.String(),
  tags: Type.Record(Type.String(), Type.String()),
}

interface Tracked {
  readonly location?: string | null
  readonly tags?: Readonly<Record<string, string>>
}

const mostTags = 50
const storable = (text: string, longest: number) =>
  text.length <= longest && !/[\p{Cc}\p{Cs}]/u.test(text) && text.trim() !== ''

/** The properties that the caller sent; undefined for the others, so that a short body changes nothing else. */
export function readTracked({ location, tags }: Tracked) {
  if (typeof location === 'string' && !storable(location, 128))
    refuseContent('location', 'must have 1 to 128 characters, none of them a control character')
  const entries = Object.entries(tags ?? {})
  if (entries.length > mostTags) refuseContent('tags', `may have at most ${mostTags} entries`)
  if (entries.some(([name, value]) => !storable(name, 512) || (value !== '' && !storable(value, 256))))
    refuseContent(
      'tags',
      'may have names of 512 and values of 256 characters, none of them a control character',
    )
  return { location: location ?? undefined, tags }
}
