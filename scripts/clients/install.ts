import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'
import { findProgram } from '../../test/support/find-program.ts'

/** The machine lacks a program, or its package manager does not deliver: the walk is skipped with this reason. */
export class Unavailable extends Error {}

const cache =
  process.env.MASQUERADE_CLIENTS_CACHE ??
  path.join(process.env.XDG_CACHE_HOME ?? path.join(homedir(), '.cache'), 'masquerade-clients')

export function requireProgram(name: string): string {
  return findProgram(name) ?? raise(`this machine has no ${name}`)
}

/** A virtual environment with these packages; returns its folder of programs. */
export function installPython(packages: readonly string[]): string {
  const python = requireProgram('python3')
  const folder = keep('python', packages, (fresh) => {
    run(python, ['-m', 'venv', fresh])
    run(path.join(fresh, 'bin/python'), ['-m', 'pip', 'install', '--quiet', '--no-compile', ...packages])
  })
  return path.join(folder, 'bin')
}

/** Packages of npm; returns the folder that holds them. */
export function installNpm(packages: readonly string[]): string {
  const npm = requireProgram('npm')
  const folder = keep('npm', packages, (fresh) => {
    mkdirSync(fresh, { recursive: true })
    writeFileSync(path.join(fresh, 'package.json'), '{}')
    run(npm, ['install', '--silent', '--no-audit', '--no-fund', '--ignore-scripts', ...packages], fresh)
  })
  return path.join(folder, 'node_modules')
}

/** The program of a Go module of this repository. */
export function buildGo(module: string): string {
  const go = requireProgram('go')
  const program = path.join(cache, `go-${path.basename(module)}`)
  run(go, ['build', '-o', program, '.'], module)
  return program
}

/** The class path of the dependencies that a pom.xml names; the jars are in the cache too, so that both go together. */
export function resolveMaven(project: string): string {
  const maven = requireProgram('mvn')
  requireProgram('java')
  const pom = readFileSync(path.join(project, 'pom.xml'), 'utf8')
  const file = path.join(
    keep('java', [pom], (fresh) => {
      mkdirSync(fresh, { recursive: true })
      const output = `-Dmdep.outputFile=${path.join(fresh, 'classpath')}`
      const repository = `-Dmaven.repo.local=${path.join(fresh, 'repository')}`
      run(maven, ['-q', '-B', repository, 'dependency:build-classpath', output], project)
    }),
    'classpath',
  )
  return readFileSync(file, 'utf8').trim()
}

/** A store of trusted certificates for Java, which reads no PEM files. */
export function makeTrustStore(certificate: string): string {
  const store = `${certificate}.p12`
  const args = ['-importcert', '-noprompt', '-alias', 'walk', '-file', certificate, '-storetype', 'PKCS12']
  run(requireProgram('keytool'), [...args, '-keystore', store, '-storepass', trustStorePassword])
  return store
}

/** Guards nothing: the certificate is public. */
export const trustStorePassword = 'changeit'

/**
 * A folder that is made once for the same wishes. It is made where it stays, as virtual environments hold their own path;
 * one without its mark was interrupted and is made anew.
 */
function keep(kind: string, wishes: readonly string[], make: (folder: string) => void): string {
  const key = createHash('sha256').update(wishes.join('\n')).digest('hex').slice(0, 12)
  const folder = path.join(cache, `${kind}-${key}`)
  const mark = path.join(folder, 'complete')
  if (existsSync(mark)) return folder
  rmSync(folder, { recursive: true, force: true })
  make(folder)
  writeFileSync(mark, '')
  return folder
}

const installMs = 20 * 60_000

function run(program: string, args: readonly string[], cwd = cache): void {
  mkdirSync(cache, { recursive: true })
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd,
    encoding: 'utf8',
    timeout: installMs,
  })
  if (status === 0) return
  const said = `${stdout ?? ''}\n${stderr ?? ''}`.trim().split('\n').slice(-3).join(' | ')
  raise(`${path.basename(program)} ${args.join(' ').slice(0, 200)}: ${error?.message ?? said}`)
}

function raise(reason: string): never {
  throw new Unavailable(reason)
}
