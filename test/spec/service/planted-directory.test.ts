import assert from 'node:assert/strict'
import { chmod, chown, lchown, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { createCa, createNodeCertificate, issueCertificate, toPem } from '../../../src/http/local-ca.ts'
import { clause } from '../../support/clause.ts'
import { runHere } from '../../support/run-here.ts'
import { stealPasswords, stealTokens, type Thief } from '../../support/thief.ts'

const corporate = 'https://masks.invalid'
/** Only root can give files to another user. */
const isRoot = process.geteuid?.() === 0
const stranger = 54_321

describe('a data directory that somebody planted', () => {
  let folder: string
  let dataDir: string
  let gateway: Thief
  let https: Thief
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'masquerade-planted-'))
    const { ca } = await createCa(['localhost'], new Date())
    const node = await createNodeCertificate()
    gateway = await stealPasswords(0, await issueCertificate(ca, ['localhost'], new Date()))
    https = await stealTokens(0, true, node)
    dataDir = join(folder, 'data')
    await mkdir(join(dataDir, 'tls'), { recursive: true, mode: 0o700 })
    await writeFile(join(dataDir, 'tls', 'ca.pem'), toPem(ca.certificate), { mode: 0o600 })
    const run = {
      pid: 1,
      host: '127.0.0.1',
      httpPort: 1,
      httpsPort: https.port,
      origin: corporate,
      gatewayPort: gateway.port,
      certificate: node.cert,
    }
    await writeFile(join(dataDir, 'run.json'), JSON.stringify(run), { mode: 0o600 })
    const session = {
      url: corporate,
      caFile: null,
      userPrincipalName: 'ana@contoso.com',
      accessToken: 'the token of Ana',
      expiresAtMs: Date.now() + 3_600_000,
      refreshToken: null,
    }
    await mkdir(join(folder, 'config', 'masquerade'), { recursive: true })
    await writeFile(join(folder, 'config', 'masquerade', 'session.json'), JSON.stringify(session))
  })
  after(async () => {
    await gateway?.[Symbol.asyncDispose]()
    await https?.[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })

  /** As in the folder of it: a relative path is not one that the operator settled on. */
  const inFolder = (place = dataDir) => ({
    MASQUERADE_DATA_DIR: relative(process.cwd(), place),
    XDG_CONFIG_HOME: join(folder, 'config'),
  })
  const commands = [
    ['psql', '--as', 'ben@contoso.com', 'shop', '-c', 'select 1'],
    ['group', 'list', '--token', 'the token of Ana'],
    ['group', 'list', '--admin'],
    ['login'],
    ['ca'],
    ['status'],
  ]
  const heard = () => [...gateway.heard, ...https.heard]
  const refuses = async (said: RegExp, environment: Record<string, string> = inFolder()) => {
    for (const args of commands) {
      const { code, stderr } = await runHere(args, { environment })
      assert.equal(code, 1, `${args.join(' ')}: ${stderr}`)
      assert.match(stderr, said, args.join(' '))
    }
    // Who is signed in goes to the service of the sign-in.
    assert.equal((await runHere(['psql', 'shop', '-c', 'select 1'], { environment })).code, 2)
    assert.deepEqual(heard(), [])
  }

  clause(
    'SVC-115',
    'A command believes the files of a data directory, which say where its service is and by what CA, only if no other user…',
    async () => {
      for (const part of ['.', 'tls', 'run.json', 'tls/ca.pem']) {
        const place = join(dataDir, part)
        const usual = part.includes('.') && part !== '.' ? 0o600 : 0o700
        for (const open of [0o002, 0o020]) {
          await chmod(place, usual | open)
          await chown(place, process.geteuid?.() ?? 0, isRoot ? stranger : (process.getegid?.() ?? 0))
          if (open === 0o002 || isRoot) {
            const isCa = part.startsWith('tls')
            const { code, stderr } = await runHere(isCa ? ['ca'] : ['status'], { environment: inFolder() })
            assert.equal(code, 1, stderr)
            assert.match(stderr, /belongs to the user with the id \d+, and .* can write it/)
          }
          await chmod(place, usual)
        }
      }
      assert.equal((await runHere(['ca'], { environment: inFolder() })).code, 0)
      if (!isRoot) return

      // A link in a folder of another user leads to files of another user as well.
      const link = join(folder, 'link')
      await symlink(dataDir, link)
      await lchown(link, stranger, stranger)
      for (const part of ['run.json', 'tls/ca.pem', 'tls', '.'])
        await chown(join(dataDir, part), stranger, stranger)
      const owned = new RegExp(
        `data(/\\S+)? belongs to the user with the id ${stranger}, and neither to you \\(0\\) nor to`,
      )
      await refuses(owned)
      await refuses(owned, inFolder(link))
      const seen = await runHere(['doctor'], { environment: inFolder() })
      assert.equal(seen.code, 4, seen.stderr)
      assert.match(seen.stdout, /PROBLEM {2}service: \S+ belongs to the user with the id 54321/)

      // The folder is the user's, and one file in it is not.
      for (const part of ['.', 'tls', 'tls/ca.pem']) await chown(join(dataDir, part), 0, 0)
      const { code, stderr } = await runHere(['status'], { environment: inFolder() })
      assert.deepEqual(
        [code, /run\.json belongs to the user with the id 54321/.test(stderr)],
        [1, true],
        stderr,
      )

      // The group with the number of the user is that user's own, as in a volume of Kubernetes.
      await chmod(dataDir, 0o770)
      assert.equal((await runHere(['ca'], { environment: inFolder() })).code, 0)

      // Root means the service of the user who owns a directory that is named by its whole path, and of the user before sudo.
      for (const part of ['.', 'tls', 'tls/ca.pem']) await chown(join(dataDir, part), stranger, stranger)
      for (const environment of [
        { MASQUERADE_DATA_DIR: dataDir },
        { ...inFolder(), SUDO_UID: String(stranger) },
      ])
        assert.equal((await runHere(['ca'], { environment })).code, 0)
      for (const part of ['.', 'tls', 'tls/ca.pem', 'run.json']) await chown(join(dataDir, part), 0, 0)
    },
  )

  test('one that came in an archive, as files of the user, gets the token of no sign-in', async () => {
    const { code } = await runHere(['psql', 'shop', '-c', 'select 1'], { environment: inFolder() })
    assert.notEqual(code, 0)
    const named = await runHere(['psql', 'shop', '--url', corporate, '-c', 'select 1'], {
      environment: { ...inFolder(), MASQUERADE_DATA_DIR: dataDir },
    })
    assert.notEqual(named.code, 0)
    assert.deepEqual(heard(), [])
  })
})
