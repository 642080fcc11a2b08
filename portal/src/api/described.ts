import type { components } from './schema.d.ts'

type Frozen<T> = T extends readonly (infer Item)[]
  ? readonly Frozen<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: Frozen<T[Key]> }
    : T

/** Every property is there, at any depth, though it may be null; properties that the description leaves open are not. */
type Given<T> = T extends readonly (infer Item)[]
  ? readonly Given<Item>[]
  : T extends object
    ? { readonly [Key in keyof T as string extends Key ? never : Key]-?: Given<Exclude<T[Key], undefined>> }
    : T

/**
 * An object of the directory by the properties that a request selects: in its description each may be left out. The service
 * gives every object the ones that are `Certain`, though the description allows null.
 */
export type Selected<
  Name extends keyof components['schemas'],
  Property extends keyof Given<components['schemas'][Name]>,
  Certain extends Property = never,
> = Pick<Given<components['schemas'][Name]>, Exclude<Property, Certain>> & {
  readonly [Key in Certain]: NonNullable<Given<components['schemas'][Name]>[Key]>
}

/** A body of the APIs by its name in their description: a change of the API breaks the build of the portal. */
export type Schema<Name extends keyof components['schemas']> = Frozen<components['schemas'][Name]>
