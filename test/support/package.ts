import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { runProgram } from './programs.ts'

const checkout = join(import.meta.dirname, '../..')
const packed = ['bin', 'docs', 'portal', 'scripts', 'sql', 'src']
const single = /^(package(-lock)?\.json|tsconfig.*\.json|[A-Z]+(\.md)?|\.npmrc)$/

/** The system's own programs: the ones of the checkout are not there where a package is installed. */
const systemPath = (process.env.PATH ?? '')
  .split(delimiter)
  .filter((folder) => !folder.includes('node_modules') && !folder.includes('node-gyp-bin'))
  .join(delimiter)

/** An environment without settings of npm, of the service or of PostgreSQL, and with a home of its own. */
export function bareEnvironment(home: string): Record<string, string> {
  const kept = Object.entries(process.env).filter(([name]) => !/^(MASQUERADE_|npm_|PG|NODE_|XDG_)/.test(name))
  return { ...(Object.fromEntries(kept) as Record<string, string>), HOME: home, PATH: systemPath }
}

export interface Packed {
  readonly folder: string
  /** The file that `npm pack` made. */
  readonly file: string
  [Symbol.asyncDispose](): Promise<void>
}

/** Runs `npm pack` in a copy of the checkout: tests that run meanwhile never see half a package. */
export async function packCheckout(): Promise<Packed> {
  const folder = await mkdtemp(join(tmpdir(), 'masquerade-package-'))
  const copy = join(folder, 'checkout')
  const names = (await readdir(checkout)).filter((name) => packed.includes(name) || single.test(name))
  await mkdir(copy)
  for (const name of names) await cp(join(checkout, name), join(copy, name), { recursive: true })
  await symlink(join(checkout, 'node_modules'), join(copy, 'node_modules'))
  const environment = bareEnvironment(folder)
  const { code, errors } = await runProgram(
    'npm',
    ['pack', '--prefix', copy, copy, '--pack-destination', folder],
    environment,
  )
  const file = (await readdir(folder)).find((name) => name.endsWith('.tgz'))
  if (code !== 0 || file === undefined) throw new Error(`npm pack: ${errors}`)
  return {
    folder,
    file: join(folder, file),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

/**
 * Unpacks into `node_modules/masquerade` of a folder, with the packages of the checkout that its shrinkwrap names beside
 * it. What only `optional` packages bring is left out on request. Returns the program.
 */
export async function installFromCheckout(
  { file }: Packed,
  folder: string,
  { optional }: { readonly optional: boolean },
): Promise<string> {
  const target = join(folder, 'node_modules/masquerade')
  await mkdir(target, { recursive: true })
  const { code, errors } = await runProgram('tar', ['-xzf', file, '-C', target, '--strip-components=1'], {})
  if (code !== 0) throw new Error(errors)
  const { packages } = JSON.parse(await readFile(join(target, 'npm-shrinkwrap.json'), 'utf8'))
  const present = new Set(await listInstalled(join(checkout, 'node_modules')))
  for (const [path, entry] of Object.entries<{ optional?: boolean }>(packages)) {
    const name = path.replace(/^node_modules\//, '')
    if (!present.has(name) || (entry.optional && !optional)) continue
    await mkdir(join(folder, 'node_modules', name, '..'), { recursive: true })
    await symlink(join(checkout, 'node_modules', name), join(folder, 'node_modules', name))
  }
  await mkdir(join(folder, 'node_modules/.bin'))
  await symlink('../masquerade/bin/masquerade.mjs', join(folder, 'node_modules/.bin/masquerade'))
  return join(folder, 'node_modules/.bin/masquerade')
}

async function listInstalled(folder: string): Promise<string[]> {
  const names = await readdir(folder)
  const scoped = names.filter((name) => name.startsWith('@'))
  const below = scoped.map(async (scope) =>
    (await readdir(join(folder, scope))).map((name) => `${scope}/${name}`),
  )
  return [...names, ...(await Promise.all(below)).flat()]
}

export interface Running {
  /** What it has printed so far. */
  readonly seen: { out: string; errors: string }
  readonly ended: Promise<number | null>
  stop(): Promise<void>
}

export function start(
  command: readonly string[],
  cwd: string,
  environment: Record<string, string>,
  input = '',
): Running {
  const [program = '', ...args] = command
  const child = spawn(program, args, { cwd, env: environment, stdio: 'pipe' })
  const seen = { out: '', errors: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    seen.out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    seen.errors += text
  })
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const ended = once(child, 'close').then(([code]) => code as number | null)
  return {
    seen,
    ended,
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
  }
}
