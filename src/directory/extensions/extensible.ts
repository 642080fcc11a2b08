import { type Address, addresses } from '../addresses/addresses.ts'

/** The addresses that lead to open extensions, each with the noun that ends its operations' names. */
export const extensible: readonly (Address & { readonly noun: string })[] = Object.entries<Address>(addresses)
  .filter(([, address]) => address.extensible)
  .map(([noun, address]) => ({ ...address, noun }))

export const extensionsAt = ({ paths }: Address): string[] => paths.map((path) => `${path}/extensions`)
export const extensionAt = ({ paths }: Address): string[] =>
  paths.map((path) => `${path}/extensions/:extensionId`)
