import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'

/** The parts that walks in JavaScript share: where the service is, the installed clients, and how checks are told. */
export const modules = readVariable('WALK_MODULES')
export const origin = readVariable('WALK_ORIGIN')
export const tenant = readVariable('WALK_TENANT')
export const clientId = readVariable('WALK_CLIENT')
export const secret = readVariable('WALK_SECRET')

export function readVariable(name: string): string {
  return process.env[name] ?? fail(`${name} is not set`)
}

// biome-ignore lint/suspicious/noExplicitAny: the clients are in the cache, and their types with them
export const load: (name: string) => any = createRequire(path.join(modules, 'walk.js'))

export function check(what: string, holds: boolean, seen?: unknown): void {
  if (!holds) fail(`${what}: ${JSON.stringify(seen)}`)
  console.log('ok', what)
}

export function tellVersions(...packages: string[]): void {
  const versionOf = (name: string) =>
    JSON.parse(readFileSync(path.join(modules, name, 'package.json'), 'utf8')).version
  console.log('versions', packages.map((name) => `${name} ${versionOf(name)}`).join(', '))
}

function fail(message: string): never {
  throw new Error(message)
}
