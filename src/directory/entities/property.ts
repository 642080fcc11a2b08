export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }
export type JsonObject = { readonly [name: string]: Json }

export type PropertyType =
  | 'string'
  | 'boolean'
  | 'integer'
  | 'dateTime'
  | 'guid'
  | 'strings'
  | 'guids'
  /** A complex value, or a collection of them; `named` is its type's name in the original. */
  | { readonly object: Properties; readonly named?: string }
  | { readonly objects: Properties; readonly named?: string }
  /** Any JSON value of bounded size. */
  | 'json'

/** A rule about a value; `words` are the values that it takes, where they are a list. */
export type Accepts = ((value: Json) => boolean) & {
  readonly words?: readonly string[]
  /** The words count in any case: answers have them as they were sent. */
  readonly anyCase?: true
}

/** One row of a table of properties: all that the service knows about a property. */
export interface Property {
  readonly type: PropertyType
  readonly required?: true
  /** `never`: the service sets it. `creation`: an update cannot change it. `elsewhere`: an operation of its own does. */
  readonly write?: 'never' | 'creation' | 'elsewhere'
  /** An update to another value takes a right of its own. */
  readonly guarded?: true
  /** False: an update cannot clear it with null. */
  readonly nullable?: false
  /** The value where nothing is stored, for answers and filters. */
  readonly default?: Json
  /** Not in the default set: `$select` must name it. */
  readonly onlyBySelect?: true
  /** Never shown. */
  readonly secret?: true
  /** Of a directory object, every property can be filtered by. */
  readonly filter?: true
  /** False: an index finds values, and does not serve an order. */
  readonly sort?: boolean
  /**
   * The index that a directory object's property has: `key` finds values, `order` also ranges and how texts begin, and
   * sorts by them, `suffix` also how texts end, `elements` finds items of a collection. `sql/` has the indexes.
   */
  readonly index?: 'key' | 'order' | 'suffix' | 'elements'
  /** A collection in which each value counts once. */
  readonly isSet?: true
  /** Characters of a string, items of a collection. */
  readonly maxLength?: number
  /** A rule beyond type and length, for the value or each item of a collection. */
  readonly accepts?: Accepts
  /** The column that holds the value where `properties` does not. */
  readonly column?: string
  /** Computes the value to show from the rest of the entity. */
  readonly derive?: (entity: Stored) => Json
}

export type Properties = Readonly<Record<string, Property>>

/** A table of properties and the kind of entity that it describes. */
export interface Described {
  readonly kind: string
  /** The kind in error messages. */
  readonly noun: string
  /** The type's name in the original where it is not the kind. */
  readonly named?: string
  readonly properties: Properties
  /** Callers with fewer permissions see null in place of values. */
  readonly isVeiled?: true
  /** Values for the example of the description of the API; other properties have made-up ones. */
  readonly example?: JsonObject
  /** The contents are their owner's alone: the audit has the names of properties, and no values. */
  readonly isPrivate?: true
}

/** An entity as its table in the database holds it. */
export interface Stored {
  readonly id: string
  readonly kind: string
  /** Defaults and nulls are not stored. */
  readonly properties: JsonObject
  /** Undefined for entities without an etag. */
  readonly version?: number
  readonly createdAt?: Date
  readonly updatedAt?: Date
  readonly deletedAt?: Date | null
  /** The user or group that an item belongs to. */
  readonly ownerId?: string
  /** The folder, calendar, list or thread that an item lies in. */
  readonly parentId?: string | null
}

export const text: Property = { type: 'string', maxLength: 1024 }
export const flag: Property = { type: 'boolean' }
export const readOnlyText: Property = { type: 'string', write: 'never' }

/** Accepts these words exactly as they are written. */
export function oneOf(...words: readonly string[]): Accepts {
  return Object.assign((value: Json) => words.some((word) => word === value), { words })
}

/** Accepts these words in any case: `HTML`, `html`. */
export function oneOfWords(...words: readonly string[]): Accepts {
  const known = new Set(words.map((word) => word.toLowerCase()))
  const accepts = (value: Json) => typeof value === 'string' && known.has(value.toLowerCase())
  return Object.assign(accepts, { words, anyCase: true } as const)
}

/** Accepts text that is not blank. */
export function isNotBlank(value: Json): boolean {
  return typeof value === 'string' && value.trim() !== ''
}
