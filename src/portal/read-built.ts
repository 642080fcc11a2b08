import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'

export interface BuiltFile {
  readonly contentType: string
  readonly plain: Buffer
  /** Undefined for a file that compression does not make smaller. */
  readonly br: Buffer | undefined
  readonly gzip: Buffer | undefined
}

export interface BuiltPortal {
  /** The page with a placeholder for the nonce of each answer. */
  readonly page: string
  /** By their path below the origin. */
  readonly files: ReadonlyMap<string, BuiltFile>
}

const contentTypes: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
}

/** Reads everything into memory: less than two megabytes, and a request then touches no file. */
export async function readBuilt(folder: string): Promise<BuiltPortal> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
  const kept = paths.filter((path) => extname(path) in contentTypes)
  const files = await Promise.all(
    kept.map(async (path): Promise<[string, BuiltFile]> => {
      const read = (suffix: string) =>
        paths.includes(path + suffix) ? readFile(join(folder, path + suffix)) : undefined
      const contentType = contentTypes[extname(path)] ?? 'application/octet-stream'
      const [plain, br, gzip] = await Promise.all([readFile(join(folder, path)), read('.br'), read('.gz')])
      return [`/${path.replaceAll('\\', '/')}`, { contentType, plain, br, gzip }]
    }),
  )
  return { page: await readFile(join(folder, 'index.html'), 'utf8'), files: new Map(files) }
}
