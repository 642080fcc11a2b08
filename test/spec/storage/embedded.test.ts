import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { connectDatabase } from '../../../src/db/connect.ts'
import { startEmbedded } from '../../../src/db/embedded.ts'
import { isAlive } from '../../../src/db/server/stale-server.ts'
import { OperatorError } from '../../../src/kernel/operator-error.ts'
import { clause } from '../../support/clause.ts'
import { stealPasswords } from '../../support/thief.ts'

const isRoot = process.getuid?.() === 0

function makeDirectory(): Disposable & { path: string } {
  const directory = mkdtempSync(path.join(tmpdir(), 'masquerade-embedded-'))
  return { path: directory, [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }) }
}

/** Made once; tests of what comes after the creation take a copy. */
const prepared = makeDirectory()
before(async () => {
  const embedded = await startEmbedded({ dataDir: path.join(prepared.path, 'data') })
  await embedded.stop()
})
after(() => prepared[Symbol.dispose]())

function copyPrepared(): Disposable & { path: string } {
  const directory = makeDirectory()
  // The server's files belong to another user when root runs this.
  assert.equal(spawnSync('cp', ['-a', `${prepared.path}/data/.`, directory.path]).status, 0)
  rmSync(path.join(directory.path, 'postgres-port'))
  return directory
}

/** A test that fails leaves its child behind; the file must end all the same. */
const children = new Set<ChildProcess>()
after(() => {
  for (const child of children) child.kill('SIGKILL')
})

async function startChild(dataDir: string): Promise<{ child: ChildProcess; serverPid: number }> {
  const script = fileURLToPath(new URL('../../support/embedded-child.ts', import.meta.url))
  const child = spawn(process.execPath, ['--expose-gc', script, dataDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.add(child)
  const [line] = await once(child.stdout, 'data')
  return { child, serverPid: JSON.parse(String(line)).pid }
}

async function killChild(child: ChildProcess): Promise<void> {
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}

async function countKept(dataDir: string): Promise<number> {
  const embedded = await startEmbedded({ dataDir, fast: true })
  try {
    const { sql, close } = await connectDatabase({ url: embedded.address })
    const [row] = await sql<{ count: number }[]>`select count(*) from kept`
    await close()
    return row?.count ?? 0
  } finally {
    await embedded.stop()
  }
}

async function refusal(dataDir: string): Promise<string> {
  try {
    const embedded = await startEmbedded({ dataDir })
    await embedded.stop()
  } catch (error) {
    assert.ok(error instanceof OperatorError, String(error))
    assert.doesNotMatch(error.message, /\n/)
    return error.message
  }
  return assert.fail('it started')
}

describe('the embedded database', { concurrency: 2 }, () => {
  it('starts in a path with spaces and other letters, keeps its data and its port, and is private', async () => {
    using directory = makeDirectory()
    const dataDir = path.join(directory.path, 'a b, ü\'s "c"')
    const first = await startEmbedded({ dataDir })
    assert.equal(first.address.host, path.join(dataDir, 'postgres'), 'the unix socket is used')
    const database = await connectDatabase({ url: first.address })
    const [before] = await database.sql`select id from instance`
    await database.close()
    await first.stop()
    assert.equal(isAlive(first.pid), false)

    const second = await startEmbedded({ dataDir })
    const again = await connectDatabase({ url: second.url })
    const [after] =
      await again.sql`select id, current_setting('data_checksums') as checksums, current_setting('fsync') as fsync from instance`
    await again.close()
    await second.stop()
    assert.deepEqual(after, { id: before?.id, checksums: 'on', fsync: 'on' })
    assert.equal(second.port, first.port)
    assert.equal(statSync(path.join(dataDir, 'postgres-password')).mode & 0o777, 0o600)
    assert.equal(statSync(dataDir).mode & 0o777, 0o700)
    assert.equal(statSync(path.join(dataDir, 'postgres')).mode & 0o777, 0o700)
  })

  it('lets nobody in without the password', async () => {
    using directory = copyPrepared()
    const embedded = await startEmbedded({ dataDir: directory.path, fast: true })
    try {
      for (const address of [embedded.address, { ...embedded.address, host: embedded.host }]) {
        const url = { ...address, password: 'guess' }
        await assert.rejects(connectDatabase({ url }), /the password is wrong/)
      }
    } finally {
      await embedded.stop()
    }
  })

  it('uses loopback TCP where the path is too long for a unix socket', async () => {
    using directory = makeDirectory()
    const dataDir = path.join(directory.path, 'long'.repeat(30))
    const embedded = await startEmbedded({ dataDir, fast: true })
    try {
      assert.equal(embedded.address.host, '127.0.0.1')
      const database = await connectDatabase({ url: embedded.address })
      await database.close()
    } finally {
      await embedded.stop()
    }
  })

  clause(
    'SVC-112',
    'Where the path of the data directory is too long for a unix socket, the service sends the password of its embedded database…',
    async () => {
      using directory = makeDirectory()
      const dataDir = path.join(directory.path, 'long'.repeat(30))
      const { address, port, stop } = await startEmbedded({ dataDir, fast: true })
      await stop()
      await using thief = await stealPasswords(port)
      await assert.rejects(connectDatabase({ url: address }))
      assert.deepEqual(thief.heard, [])
    },
  )

  it('recovers after its service was killed and left the server running', async () => {
    using directory = copyPrepared()
    const { child, serverPid } = await startChild(directory.path)
    await killChild(child)
    assert.ok(isAlive(serverPid), 'the server outlived its service')
    assert.equal(await countKept(directory.path), 1)
  })

  it('recovers after service and server were killed and another process got the pid', async () => {
    using directory = copyPrepared()
    const { child, serverPid } = await startChild(directory.path)
    await killChild(child)
    process.kill(serverPid, 'SIGKILL')
    const cluster = path.join(directory.path, 'postgres')
    const { uid, gid } = statSync(cluster)
    const stranger = spawn('sleep', ['60'], { cwd: '/', ...(isRoot && { uid, gid }) })
    try {
      const pidFile = path.join(cluster, 'postmaster.pid')
      writeFileSync(pidFile, readFileSync(pidFile, 'utf8').replace(/^\d+/, String(stranger.pid)))
      assert.equal(await countKept(directory.path), 1)
      assert.equal(stranger.exitCode ?? stranger.signalCode, null, 'the stranger was left alone')
    } finally {
      stranger.kill()
    }
  })

  it('begins again after a crash in the middle of its creation', async () => {
    using directory = makeDirectory()
    mkdirSync(path.join(directory.path, 'postgres.new-abc'))
    writeFileSync(path.join(directory.path, 'postgres.new-abc/PG_VERSION'), '18\n')
    writeFileSync(path.join(directory.path, 'postgres-password'), 'of the attempt that crashed')
    const embedded = await startEmbedded({ dataDir: directory.path, fast: true })
    await embedded.stop()
    assert.ok(!existsSync(path.join(directory.path, 'postgres.new-abc')))
  })

  it('is refused to a second service, in this process or another, and free when the first ends', async () => {
    using directory = copyPrepared()
    const { child } = await startChild(directory.path)
    const message = `another Masquerade (pid ${child.pid}) is using this data directory: ${directory.path}`
    assert.equal(await refusal(directory.path), message)
    await killChild(child)
    const embedded = await startEmbedded({ dataDir: directory.path, fast: true })
    assert.match(await refusal(directory.path), new RegExp(`another Masquerade \\(pid ${process.pid}\\)`))
    await embedded.stop()
  })

  it('lets exactly one of several that start at once have the directory', async () => {
    using directory = makeDirectory()
    const script = fileURLToPath(new URL('../../support/embedded-child.ts', import.meta.url))
    const children = [1, 2, 3].map(() => spawn(process.execPath, [script, directory.path]))
    const outcomes = await Promise.all(
      children.map((child) =>
        Promise.race([
          once(child.stdout, 'data').then(() => 'up'),
          once(child, 'exit').then(() => 'refused'),
        ]),
      ),
    )
    for (const child of children) if (child.exitCode === null) await killChild(child)
    assert.deepEqual(outcomes.sort(), ['refused', 'refused', 'up'])
    assert.equal(await countKept(directory.path), 1)
  })

  it('tells when its server dies', async () => {
    using directory = copyPrepared()
    const died = Promise.withResolvers<string>()
    const embedded = await startEmbedded({ dataDir: directory.path, fast: true, onExit: died.resolve })
    process.kill(embedded.pid, 'SIGKILL')
    assert.equal(await died.promise, 'it was ended from outside')
    await embedded.stop()
  })

  it('says what is wrong with a data directory', async () => {
    using directory = makeDirectory()
    const file = path.join(directory.path, 'file')
    writeFileSync(file, '')
    assert.equal(await refusal(file), `the data directory ${file} cannot be used: it is not a directory`)
    const below = path.join(file, 'below')
    assert.equal(
      await refusal(below),
      `the data directory ${below} cannot be used: a part of the path is not a directory`,
    )
    const sealed = path.join(directory.path, 'sealed')
    mkdirSync(sealed, { mode: 0o555 })
    chmodSync(directory.path, 0o755)
    // Modes do not bind root; the directory is tried, and refused, before startEmbedded first waits.
    if (isRoot) process.seteuid?.(65534)
    const refused = refusal(sealed)
    if (isRoot) process.seteuid?.(0)
    assert.equal(await refused, `the data directory ${sealed} cannot be used: this user may not write there`)
  })

  it('says that the disk is too full or read-only', {
    skip: !canMount() && 'this machine does not let us mount',
  }, async () => {
    using directory = makeDirectory()
    const small = path.join(directory.path, 'small')
    mkdirSync(small)
    mount(['-t', 'tmpfs', '-o', 'size=20m', 'none', small])
    try {
      assert.match(await refusal(small), /has \d+ MB free, and the embedded database needs 100 MB$/)
      writeFileSync(path.join(small, 'filling'), Buffer.alloc(19_000_000))
      spawnSync('dd', ['if=/dev/zero', `of=${small}/rest`, 'bs=4096'])
      assert.match(await refusal(small), /cannot be used: the disk is full$/)
      mount(['-o', 'remount,ro', small])
      assert.match(await refusal(small), /cannot be used: the file system is read-only$/)
    } finally {
      spawnSync('umount', [small])
    }
  })

  it('names a port that is in use when that port was asked for', async () => {
    using first = copyPrepared()
    using second = copyPrepared()
    const embedded = await startEmbedded({ dataDir: first.path, fast: true })
    try {
      const start = startEmbedded({ dataDir: second.path, fast: true, port: embedded.port })
      await assert.rejects(start, {
        message: `the embedded database does not start: port ${embedded.port} is in use`,
      })
    } finally {
      await embedded.stop()
    }
  })

  it('refuses a cluster of another version, without its password, or that is none', async () => {
    using directory = copyPrepared()
    const embedded = await startEmbedded({ dataDir: directory.path, fast: true })
    await embedded.stop()
    const versionFile = path.join(directory.path, 'postgres/PG_VERSION')
    writeFileSync(versionFile, '17\n')
    assert.match(await refusal(directory.path), /was made by PostgreSQL 17, and this version brings 18/)
    rmSync(versionFile)
    assert.match(await refusal(directory.path), /postgres is not a database$/)
    writeFileSync(versionFile, '18\n')
    rmSync(path.join(directory.path, 'postgres-password'))
    assert.match(await refusal(directory.path), /postgres-password is missing: restore it/)
  })
})

function mount(options: string[]): number | null {
  return spawnSync('mount', options).status
}

function canMount(): boolean {
  using directory = makeDirectory()
  const isMounted = isRoot && mount(['-t', 'tmpfs', '-o', 'size=1m', 'none', directory.path]) === 0
  if (isMounted) spawnSync('umount', [directory.path])
  return isMounted
}
