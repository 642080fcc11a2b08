// npm pack: compiles the service into dist/, with the built portal and everything that it reads at run time.
import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import manifest from '../package.json' with { type: 'json' }
import { ensurePortal } from '../src/portal/build-portal.ts'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
rmSync('dist', { recursive: true, force: true })
compileSources()
copyFiles(globSync('src/**/*.{sql,jsonl,js,css}'))
copyFiles(globSync('sql/{[0-9]*.sql,locks.json}'))
const { name, version, type } = manifest
writeFileSync('dist/package.json', JSON.stringify({ name, version, type }))
const portal = await ensurePortal()
if (portal === undefined) throw new Error('the portal could not be built')
cpSync(portal, 'dist/portal/dist', { recursive: true })
writeFileSync('npm-shrinkwrap.json', JSON.stringify(pinDependencies()))

function compileSources(): void {
  const { bin } = JSON.parse(readFileSync('node_modules/typescript/package.json', 'utf8'))
  const compiler = path.join('node_modules/typescript', bin.tsc)
  execFileSync(process.execPath, [compiler, '-p', 'tsconfig.package.json'], { stdio: 'inherit' })
}

function copyFiles(files: readonly string[]): void {
  for (const file of files) {
    mkdirSync(path.join('dist', path.dirname(file)), { recursive: true })
    cpSync(file, path.join('dist', file))
  }
}

/** The lock without what only a checkout needs: an installed package gets the very versions that were tested. */
function pinDependencies(): object {
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'))
  const entries = Object.entries<Record<string, unknown>>(lock.packages).filter(([, entry]) => !entry.dev)
  const packages = Object.fromEntries(entries)
  const { devDependencies: _left, ...root } = packages[''] ?? {}
  return { ...lock, packages: { ...packages, '': root } }
}
