/** The two APIs: each has paths, errors and manners of its own. */
export type Surface = 'masking' | 'directory'

/** The prefix of every path of an API. */
export const pathPrefix = { masking: '', directory: '/v1.0' } as const satisfies Record<Surface, string>

const directoryStart = new RegExp(`^${pathPrefix.directory.replace('.', '\\.')}(?=/|$)`, 'i')

export function isDirectoryPath(path: string): boolean {
  return directoryStart.test(path)
}

/** `/v1.0/users` as `/users`; any other path stays as it is. */
export function withoutDirectoryPrefix(path: string): string {
  return path.replace(directoryStart, '')
}
