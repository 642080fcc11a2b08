import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

const root = join(import.meta.dirname, '../..')
const sources = join(root, 'portal')
/** A package holds the built files here, and no sources. */
const packaged = join(sources, 'dist')
const cache = join(root, 'node_modules/.cache/portal')
const builder = join(root, 'node_modules/vite/bin/vite.js')
const kept = 3

/** The folder of the built portal, built now when its sources changed; undefined where it cannot be built. */
export async function ensurePortal(
  onProgress: (step: string) => void = () => {},
): Promise<string | undefined> {
  if (!existsSync(join(sources, 'src'))) return existsSync(packaged) ? packaged : undefined
  const folder = join(cache, await hashSources())
  if (existsSync(folder)) return folder
  if (!existsSync(builder)) return undefined
  onProgress('building the portal')
  await build(folder)
  return folder
}

async function hashSources(): Promise<string> {
  const entries = await readdir(sources, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const hash = createHash('sha256')
  for (const file of [join(root, 'package-lock.json'), ...files.sort()])
    hash
      .update(`${file.slice(root.length)}\0`)
      .update(await readFile(file))
      .update('\0')
  return hash.digest('hex').slice(0, 16)
}

/** Builds beside the final folder and renames: another process sees all of it or nothing. */
async function build(folder: string): Promise<void> {
  const unfinished = `${folder}.${process.pid}`
  try {
    await runBuilder(unfinished)
    await compressFiles(unfinished)
    await rename(unfinished, folder).catch((error: unknown) => {
      if (!existsSync(folder)) throw error
    })
  } finally {
    await rm(unfinished, { recursive: true, force: true })
  }
  await forgetOld(folder)
}

async function runBuilder(outDir: string): Promise<void> {
  await mkdir(cache, { recursive: true })
  const child = spawn(
    process.execPath,
    [builder, 'build', sources, '--outDir', outDir, '--logLevel', 'error', '--configLoader', 'native'],
    { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, NODE_ENV: 'production' } },
  )
  const output: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => output.push(chunk))
  const [code] = await once(child, 'close')
  if (code !== 0)
    throw new Error(`the portal could not be built:\n${Buffer.concat(output).toString().trim()}`)
}

const compressible = new Set(['.js', '.css', '.svg'])

async function compressFiles(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries
    .filter((entry) => entry.isFile() && compressible.has(extname(entry.name)))
    .map((entry) => join(entry.parentPath, entry.name))
  await Promise.all(
    files.map(async (file) => {
      const plain = await readFile(file)
      if (plain.length < 1024) return
      const params = {
        [constants.BROTLI_PARAM_QUALITY]: 11,
        [constants.BROTLI_PARAM_SIZE_HINT]: plain.length,
      }
      await writeFile(`${file}.br`, await promisify(brotliCompress)(plain, { params }))
      await writeFile(`${file}.gz`, await promisify(gzip)(plain, { level: 9 }))
    }),
  )
}

/** Keeps the newest few: other checkouts of the same folder, and a way back, want no new build. */
async function forgetOld(current: string): Promise<void> {
  const folders = (await readdir(cache)).map((name) => join(cache, name)).filter((path) => path !== current)
  const aged = await Promise.all(folders.map(async (path) => ({ path, at: (await stat(path)).mtimeMs })))
  const old = aged.sort((a, b) => b.at - a.at).slice(kept)
  await Promise.all(old.map(({ path }) => rm(path, { recursive: true, force: true })))
}
