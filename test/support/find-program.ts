import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Where a program is that the machine may have or not. */
export function findProgram(name: string): string | undefined {
  return (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK)
        return true
      } catch {
        return false
      }
    })
}

/** What a program of the system needs to start, and nothing of ours. */
export function systemEnvironment(): Record<string, string> {
  const names = ['PATH', 'LD_LIBRARY_PATH', 'TMPDIR']
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])))
}
