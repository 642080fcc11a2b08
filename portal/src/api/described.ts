import type { components } from './schema.d.ts'

type Frozen<T> = T extends readonly (infer Item)[]
  ? readonly Frozen<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: Frozen<T[Key]> }
    : T

/** A body of the APIs by its name in their description: a change of the API breaks the build of the portal. */
export type Schema<Name extends keyof components['schemas']> = Frozen<components['schemas'][Name]>
