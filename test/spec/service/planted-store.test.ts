import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { chmod, chown, lchown, lstat, mkdir, mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { readSecretKeys } from '../../../src/auth/secret-key.ts'
import { openLog } from '../../../src/cli/log.ts'
import { lockDirectory } from '../../../src/db/server/lock.ts'
import { readPrivateFile } from '../../../src/http/private-file.ts'
import { writeShopAccess } from '../../../src/sample/shop.ts'
import { readSettings } from '../../../src/settings.ts'
import { clause } from '../../support/clause.ts'
import { type Outcome, startCommand } from '../../support/command.ts'
import { runHere } from '../../support/run-here.ts'

/** Only root can give files to another user. */
const isRoot = process.geteuid?.() === 0
const stranger = 54_321

describe('a data directory of another user', () => {
  let folder: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'masquerade-store-'))
    // The account that root lends to the embedded server has to get by.
    await chmod(folder, 0o711)
    await writeFile(join(folder, 'backup'), 'no backup')
  })
  after(() => rm(folder, { recursive: true, force: true }))

  let count = 0
  const makeDirectory = async (mode = 0o700): Promise<string> => {
    const dataDir = join(folder, `data-${++count}`)
    await mkdir(dataDir)
    await chmod(dataDir, mode)
    return dataDir
  }
  /** As in the folder of it: a relative path is not one that the operator settled on. */
  const within = (dataDir: string) => ({
    MASQUERADE_DATA_DIR: relative(process.cwd(), dataDir),
    MASQUERADE_BACKUP_PASSPHRASE: 'a long passphrase',
  })
  const commands = [
    ['migrate'],
    ['migrate', '--check'],
    ['admin', 'restore'],
    ['keys', 'rotate-secret'],
    ['token', '--admin'],
  ]
  const all = () => [
    ...commands,
    ['backup', join(folder, 'never')],
    ['audit', 'export', join(folder, 'never')],
    ['restore', join(folder, 'backup')],
  ]

  const refusesAll = async (dataDir: string, said: RegExp) => {
    const untouched = readdirSync(dataDir)
    const outcomes: [string, Outcome][] = [['serve', await serveUntilReady(within(dataDir))]]
    for (const args of all())
      outcomes.push([args.join(' '), await runHere(args, { environment: within(dataDir) })])
    for (const [command, { code, stderr }] of outcomes) {
      assert.equal(code, 1, `${command}: ${stderr}`)
      assert.match(stderr, said, command)
    }
    const seen = await runHere(['doctor'], { environment: within(dataDir) })
    assert.equal(seen.code, 4, seen.stderr)
    for (const check of ['data directory', 'database of the service'])
      assert.match(seen.stdout, new RegExp(`PROBLEM {2}${check}: .*${said.source}`))
    assert.deepEqual(readdirSync(dataDir), untouched)
  }
  const believes = async (environment: Record<string, string>) => {
    const { code, stderr } = await runHere(['backup', join(folder, 'never')], { environment })
    assert.deepEqual([code, /There is no service in/.test(stderr)], [1, true], stderr)
  }

  clause(
    'SVC-117',
    '`serve`, `migrate`, `restore`, `admin restore`, `backup`, `audit export`, `keys rotate-secret` and `doctor` use a data directory…',
    async () => {
      await refusesAll(await makeDirectory(0o777), /and every user of this machine can write it/)

      // Private by now, but one of its parts could be written for a while.
      const opened = await makeDirectory()
      await writeFile(join(opened, 'secret.key'), Buffer.alloc(32), { mode: 0o666 })
      await chmod(join(opened, 'secret.key'), 0o666)
      await refusesAll(opened, /secret\.key belongs to .* every user of this machine can write it/)
      assert.deepEqual(readSecretKeys(opened, undefined), [Buffer.alloc(32)])

      // A link of the user's own leads to a directory of the user's own.
      const own = await makeDirectory()
      await symlink(own, join(folder, 'own-link'))
      await believes(within(join(folder, 'own-link')))
      if (!isRoot) return

      const planted = await makeDirectory(0o755)
      await chown(planted, stranger, stranger)
      await refusesAll(planted, new RegExp(`belongs to the user with the id ${stranger}, and neither to you`))
      const shared = await makeDirectory(0o770)
      await chown(shared, 0, stranger)
      await refusesAll(shared, new RegExp(`and the group with the id ${stranger} can write it`))
      for (const part of ['postgres-password', 'postgres-port', 'shop.json', 'tls', 'tls/ca-key.pem']) {
        const dataDir = await makeDirectory()
        if (part.startsWith('tls')) await mkdir(join(dataDir, 'tls'), { mode: 0o700 })
        if (part !== 'tls') await writeFile(join(dataDir, part), '1', { mode: 0o600 })
        await chown(join(dataDir, part), stranger, stranger)
        const { code, stderr } = await serveUntilReady(within(dataDir))
        assert.equal(code, 1, stderr)
        assert.match(stderr, new RegExp(`${part} belongs to the user with the id ${stranger}`))
      }

      // A link that another user made, to a directory of the user's own.
      const link = join(folder, 'their-link')
      await symlink(own, link)
      await lchown(link, stranger, stranger)
      await refusesAll(link, /their-link belongs to the user with the id/)

      // The directory of a service with a user of its own, by its whole path and behind sudo.
      await chown(planted, stranger, stranger)
      await chmod(planted, 0o700)
      for (const environment of [
        { MASQUERADE_DATA_DIR: planted },
        { ...within(planted), SUDO_UID: String(stranger) },
      ])
        await believes({ ...within(planted), ...environment })
      // A group with the number of the user is private to the user, as in a volume of Kubernetes and under umask 002.
      await chown(planted, 0, 0)
      await chmod(planted, 0o2770)
      await believes(within(planted))
    },
  )

  test('root brings up a store in the directory of a user of the service, and in one of its own', async () => {
    for (const environment of isRoot ? [{ MASQUERADE_DATA_DIR: '' }, {}] : [{}]) {
      const dataDir = await makeDirectory()
      const isNamed = 'MASQUERADE_DATA_DIR' in environment
      if (isNamed) await chown(dataDir, stranger, stranger)
      const where = { ...within(dataDir), ...(isNamed && { MASQUERADE_DATA_DIR: dataDir }) }
      // Again: the embedded database belongs to the account that root lends it by now.
      for (const args of [['migrate'], ['migrate', '--check']]) {
        const { code, stderr } = await runHere(args, { environment: where })
        assert.equal(code, 0, stderr)
      }
    }
  })

  clause(
    'SVC-118',
    'The service and its commands write no file of the data directory through a symbolic link or into a file that was there before…',
    async () => {
      const dataDir = await makeDirectory()
      const secret = join(folder, 'a file of the user')
      await writeFile(secret, 'mine')
      const names = ['masquerade.pid', 'run.json', 'postgres.log', 'postgres-port', 'administrator-password']
      const drafts = ['postgres-password', ...names].map((name) => `${name}.new`)
      for (const name of [...names, ...drafts]) await symlink(secret, join(dataDir, name))
      // A draft that others can read: what is renamed keeps its owner and mode.
      await rm(join(dataDir, 'postgres-password.new'))
      await writeFile(join(dataDir, 'postgres-password.new'), '')
      await chmod(join(dataDir, 'postgres-password.new'), 0o666)
      const { stdout, stderr } = await serveUntilReady(within(dataDir), (ready) => {
        assert.match(ready, /ready/)
        assert.notEqual(readFileSync(join(dataDir, 'masquerade.pid'), 'utf8'), 'mine')
        assert.equal(JSON.parse(readFileSync(join(dataDir, 'run.json'), 'utf8')).host, '127.0.0.1')
      })
      assert.match(stdout, /ready/, stderr)
      for (const name of ['postgres-password', 'postgres-port', 'postgres.log', 'administrator-password']) {
        const found = await lstat(join(dataDir, name))
        assert.deepEqual([name, found.isFile(), found.mode & 0o777], [name, true, 0o600])
      }

      const others = await makeDirectory()
      for (const name of ['shop.json', 'masquerade.lock', 'masquerade.log'])
        await symlink(secret, join(others, name))
      const access = { host: '127.0.0.1', port: 1, database: 'shop', analyst: '', auditor: '' }
      writeShopAccess(others, access)
      assert.throws(() => lockDirectory(others), /cannot be locked: ELOOP/)
      const isTerminal = process.stderr.isTTY
      try {
        process.stderr.isTTY = true
        const settings = readSettings({ MASQUERADE_DATA_DIR: others })
        assert.throws(() => openLog(settings), /masquerade\.log cannot be written \(ELOOP\)/)
        await rm(join(others, 'masquerade.log'))
        openLog(settings).log.info('a line')
        assert.match(readFileSync(join(others, 'masquerade.log'), 'utf8'), /a line/)
      } finally {
        process.stderr.isTTY = isTerminal
      }
      assert.equal(await readPrivateFile(join(others, 'masquerade.lock')), 'mine')
      assert.equal((await stat(secret)).mode & 0o777, 0o666 & ~process.umask())
      assert.equal(readFileSync(secret, 'utf8'), 'mine')
    },
  )

  clause(
    'SVC-119',
    'Where the data directory belongs to another user than the caller and root…',
    async () => {
      // Only root uses the directory of another user.
      if (!isRoot) return
      const dataDir = await makeDirectory()
      const [theirs, ours] = [join(folder, 'theirs'), join(folder, 'ours')]
      for (const place of [theirs, ours]) await mkdir(place, { mode: 0o700 })
      for (const place of [dataDir, theirs]) await chown(place, stranger, stranger)
      const environment = { ...within(dataDir), MASQUERADE_DATA_DIR: dataDir }
      for (const name of ['tls', 'postgres']) {
        const link = join(dataDir, name)
        await symlink(theirs, link)
        await lchown(link, stranger, stranger)
        await believes(environment)
        await rm(link)
        await symlink(ours, link)
        await lchown(link, stranger, stranger)
        const { code, stderr } = await serveUntilReady(environment)
        assert.equal(code, 1, stderr)
        assert.match(
          stderr,
          new RegExp(`${name} is a link of the user with the id ${stranger} to what is not`),
        )
        await rm(link)
      }
    },
  )
})

/** Ends a service that does start, after a look at it. */
async function serveUntilReady(
  environment: Record<string, string>,
  look: (stdout: string) => void = () => {},
): Promise<Outcome> {
  const ports = ['HTTP', 'HTTPS', 'GATEWAY'].map((name) => [`MASQUERADE_${name}_PORT`, '0'])
  const started = startCommand(['serve'], { ...Object.fromEntries(ports), ...environment })
  try {
    await started.waitFor(/ready/).then(look, () => {})
  } finally {
    started.child.kill('SIGTERM')
  }
  return await started.ended
}
