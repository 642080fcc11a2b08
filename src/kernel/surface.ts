/** The two APIs: each has paths, errors and manners of its own. */
export type Surface = 'masking' | 'directory'

/** The prefix of every path of an API. */
export const pathPrefix = { masking: '', directory: '/v1.0' } as const satisfies Record<Surface, string>

/** The namespace of the directory's types, and the name under which clients of the original know them. */
export const ownNamespace = 'vendor.graph'
export const aliasNamespace = 'microsoft.graph'

/** Every spelling of the namespace in a cast, a type or a qualified name, for a pattern. */
export const namespacePattern = '(?:(?:vendor|microsoft)\\.)?graph'

/** The form of a segment that casts to a type: `vendor.graph.user`. The group is the name of the type. */
export const castPattern = `^${namespacePattern}\\.(\\w+)$`

/** Under this prefix the directory answers in the other namespace. */
export const aliasPrefix = `/${aliasNamespace}`

const aliasStart = new RegExp(
  `^${escapeDots(aliasPrefix)}(?=${escapeDots(pathPrefix.directory)}(?:[/?]|$))`,
  'i',
)
const directoryStart = new RegExp(
  `^(?:${escapeDots(aliasPrefix)})?${escapeDots(pathPrefix.directory)}(?=/|$)`,
  'i',
)

function escapeDots(text: string): string {
  return text.replaceAll('.', '\\.')
}

/** True for a URL under the prefix of the other namespace. */
export function isAliased(url: string): boolean {
  return aliasStart.test(url)
}

/** `/microsoft.graph/v1.0/users` as `/v1.0/users`; any other URL stays as it is. */
export function withoutAlias(url: string): string {
  return url.replace(aliasStart, '')
}

export function isDirectoryPath(path: string): boolean {
  return directoryStart.test(path)
}

/** `/v1.0/users` as `/users`; any other path stays as it is. */
export function withoutDirectoryPrefix(path: string): string {
  return path.replace(directoryStart, '')
}
