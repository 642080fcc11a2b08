/** What JSON can hold. */
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
  /** A complex value, or a collection of them. */
  | { readonly object: Properties }
  | { readonly objects: Properties }
  /** Any JSON value of bounded size. */
  | 'json'

/** One row of a resource's table: all that the service knows of a property. */
export interface Property {
  readonly type: PropertyType
  readonly required?: true
  /** `never`: the service sets it. `creation`: an update cannot change it. `elsewhere`: an operation of its own does. */
  readonly write?: 'never' | 'creation' | 'elsewhere'
  /** False: an update cannot clear it with null. */
  readonly nullable?: false
  /** Shown, and filtered by, where nothing is stored. */
  readonly default?: Json
  /** Not in the default set: `$select` must name it. */
  readonly onlyBySelect?: true
  /** Never shown. */
  readonly secret?: true
  readonly filter?: true
  readonly sort?: true
  /** Characters of a string, items of a collection. */
  readonly maxLength?: number
  /** A rule beyond type and length, for the value or each item of a collection. */
  readonly accepts?: (value: Json) => boolean
  /** Where the value lies when that is not `properties`: a column of directory_object. */
  readonly column?: string
}

export type Properties = Readonly<Record<string, Property>>

export const text: Property = { type: 'string', maxLength: 1024 }
export const flag: Property = { type: 'boolean' }
export const readOnlyText: Property = { type: 'string', write: 'never' }
