// npm run types: the types of the APIs for the portal. The generator needs a TypeScript that it can call: both are installed
// into the cache of the clients. With --check it says whether the types are of this description, and writes nothing.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { installNpm } from './clients/install.ts'
import { describeTypes, markOf, typesFile } from './types/describe-types.ts'

const packages = ['openapi-typescript@7.13.0', 'typescript@5.9.3']
const description = describeTypes()
if (process.argv.includes('--check')) checkTypes()
else makeTypes()

function checkTypes(): void {
  const [mark] = readFileSync(typesFile, 'utf8').split('\n', 1)
  console.log(`versions ${packages.join(', ').replaceAll('@', ' ')}`)
  const isFresh = mark === markOf(description)
  console.log(
    isFresh
      ? 'ok the types of the portal are of this description'
      : 'The types of the portal are of another description: npm run types makes them anew.',
  )
  if (!isFresh) process.exitCode = 1
}

function makeTypes(): void {
  const folder = mkdtempSync(path.join(tmpdir(), 'masquerade-types-'))
  try {
    const [source, made] = ['openapi.json', 'schema.d.ts'].map((name) => path.join(folder, name)) as [
      string,
      string,
    ]
    writeFileSync(source, JSON.stringify(description))
    const generator = path.join(installNpm(packages), 'openapi-typescript/bin/cli.js')
    const { status, stderr } = spawnSync(process.execPath, [generator, source, '-o', made], {
      encoding: 'utf8',
    })
    if (status !== 0) throw new Error(`openapi-typescript: ${stderr.trim()}`)
    writeFileSync(typesFile, `${markOf(description)}\n${readFileSync(made, 'utf8')}`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
