import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { describe } from 'node:test'
import { clause } from '../../support/clause.ts'
import {
  buildRoot,
  canChangeRoot,
  containerfile,
  readRecipe,
  runInRoot,
} from '../../support/containerfile.ts'
import { findFreePort } from '../../support/network.ts'
import { packCheckout } from '../../support/package.ts'
import { runProgram } from '../../support/programs.ts'
import { waitUntil } from '../../support/wait-until.ts'

const isAll = process.env.MASQUERADE_TEST_ALL !== undefined
const isLong = !isAll && 'a package is made and installed: npm run test:all'
const engine = isAll ? findEngine() : undefined
const ignoreFile = join(import.meta.dirname, '../../../.dockerignore')
const confinement = ['--read-only', '--tmpfs=/tmp', '--cap-drop=all', '--security-opt=no-new-privileges']
const patience = { withinMs: 180_000, everyMs: 500 }

describe('the image, built and run by a container engine', {
  skip: isLong || (engine === undefined && 'neither podman nor docker has an engine here'),
}, () => {
  clause(
    'SVC-86',
    '`deploy/Containerfile` gives an image that runs as a user without privileges on a read-only root, …',
    () => runImage(engine ?? ''),
  )
})

describe('the steps of the Containerfile, in a root of their own', {
  skip: isLong || (!canChangeRoot() && 'only root may change its root, on Linux'),
}, () => {
  clause(
    'SVC-86',
    '`deploy/Containerfile` gives an image that runs as a user without privileges on a read-only root, …',
    runSteps,
  )
})

async function runSteps(): Promise<void> {
  await using packed = await packCheckout()
  const recipe = await readRecipe()
  await using root = await buildRoot(packed, recipe)
  assert.ok(existsSync(join(root.folder, 'opt/masquerade/bin/masquerade')))
  const httpPort = String(await findFreePort())
  const running = await runInRoot(root, recipe, {
    MASQUERADE_HOST: '127.0.0.1',
    MASQUERADE_HTTP_PORT: httpPort,
    MASQUERADE_HTTPS_PORT: String(await findFreePort()),
    MASQUERADE_GATEWAY_PORT: String(await findFreePort()),
  })
  try {
    let isOver = false
    running.ended.then(() => {
      isOver = true
    })
    const [, ...check] = recipe.health
    const isHealthy = async () =>
      (await runProgram(process.execPath, check, { MASQUERADE_HTTP_PORT: httpPort })).code === 0
    assert.equal(await isHealthy(), false)
    await waitUntil('the health check passes', async () => isOver || (await isHealthy()), patience)
    assert.equal(isOver, false, running.seen.errors)

    const { pid } = JSON.parse(await readFile(join(root.data, 'run.json'), 'utf8'))
    const status = await readFile(`/proc/${pid}/status`, 'utf8')
    const read = (name: string) => new RegExp(`^${name}:\\s+(.*)$`, 'm').exec(status)?.[1] ?? ''
    assert.deepEqual(new Set(read('Uid').split(/\s+/)), new Set([recipe.user]))
    assert.deepEqual(
      ['CapEff', 'CapPrm', 'CapBnd'].map((name) => Number(`0x${read(name)}`)),
      [0, 0, 0],
    )
    await running.stop()
    assert.equal(await running.ended, 0, running.seen.errors)
    assert.equal(await isHealthy(), false)
  } finally {
    await running.stop()
  }
}

function findEngine(): string | undefined {
  return ['podman', 'docker'].find(
    (name) => spawnSync(name, ['info'], { stdio: 'ignore', timeout: 30_000 }).status === 0,
  )
}

async function runImage(name: string): Promise<void> {
  await using packed = await packCheckout()
  await cp(ignoreFile, join(packed.folder, basename(ignoreFile)))
  const container = `masquerade-test-${randomUUID()}`
  const image = `localhost/${container}`
  const run = async (...args: readonly string[]) => {
    const { code, out, errors } = await runProgram(name, args, {})
    assert.equal(code, 0, `${name} ${args[0]}: ${errors}`)
    return out.trim()
  }
  const format = name === 'podman' ? ['--format', 'docker'] : []
  try {
    await run('build', ...format, '-f', containerfile, '-t', image, packed.folder)
    await run('run', '--detach', '--name', container, ...confinement, image)
    const ask = (field: string) => run('inspect', '--format', `{{${field}}}`, container)
    await waitUntil('it is healthy', async () => (await ask('.State.Health.Status')) === 'healthy', patience)
    assert.equal(await run('exec', container, 'id', '-u'), (await readRecipe()).user)
    await run('stop', '--time', '30', container)
    assert.equal(await ask('.State.ExitCode'), '0')
  } finally {
    await runProgram(name, ['rm', '--force', '--volumes', container], {})
    await runProgram(name, ['rmi', '--force', image], {})
  }
}
