import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'

const top = join(import.meta.dirname, '../..')
const notOurs = /(^|\/)(node_modules|\.git)$|^(data|dist|portal\/dist)$/

export type SourceFile = { path: string; text: string }

/** The text files below a folder of the checkout, with paths relative to its top. */
export function readTree(folder: string, pattern: RegExp): SourceFile[] {
  if (!existsSync(join(top, folder))) return []
  return readdirSync(join(top, folder), { withFileTypes: true })
    .sort((a, b) => a.name.localeCompare(b.name))
    .flatMap((entry) => {
      const path = posix.join(folder, entry.name)
      if (notOurs.test(path)) return []
      if (entry.isDirectory()) return readTree(path, pattern)
      return entry.isFile() && pattern.test(path) ? [{ path, text: readText(path) }] : []
    })
}

export function readText(path: string): string {
  return readFileSync(join(top, path), 'utf8')
}

export function pathExists(path: string): boolean {
  return existsSync(join(top, path))
}

export function atTop(path: string): string {
  return join(top, path)
}
