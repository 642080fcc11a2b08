import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createCa, toPem } from '../../../src/http/local-ca.ts'
import { Browser } from '../../support/browser.ts'
import { clause } from '../../support/clause.ts'
import { useGateway } from '../../support/gateway.ts'
import { addPerson, type Person, trustService } from '../../support/issuer.ts'
import { bringPeople } from '../../support/people.ts'
import { signInDevice } from '../../support/sign-in.ts'
import { waitUntil } from '../../support/wait-until.ts'

const main = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url))
const read = ['-c', 'select email, current_user from public.customers where id = 1']

describe('masquerade psql on a machine that has nothing of the service but its CA', () => {
  const gateway = useGateway()
  const { masking, name, port } = gateway
  let folder = ''
  let ana: Person
  let bob: Person
  before(async () => {
    const service = masking.service()
    trustService(service)
    folder = await mkdtemp(join(tmpdir(), 'masquerade-psql-'))
    await mkdir(join(folder, 'empty'))
    const people = await bringPeople(gateway)
    ana = await addPerson(service)
    bob = await addPerson(service)
    for (const { id } of [ana, bob]) await people.map(id)
  })
  after(() => rm(folder, { recursive: true, force: true }))

  const start = (...args: string[]) => {
    const { httpsOrigin, dataDir } = masking.service()
    const there = ['--url', httpsOrigin, '--ca', join(dataDir, 'tls', 'ca.pem')]
    const inherited = Object.entries(process.env).filter(([each]) => !/^(PG|MASQUERADE_)/.test(each))
    const child = spawn(process.execPath, [main, ...args.slice(0, 1), ...there, ...args.slice(1)], {
      env: {
        ...Object.fromEntries(inherited),
        MASQUERADE_DATA_DIR: join(folder, 'nothing'),
        XDG_CONFIG_HOME: join(folder, 'config'),
        PATH: join(folder, 'empty'),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const seen = { out: '', errors: '' }
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      seen.out += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      seen.errors += text
    })
    return { seen, ended: once(child, 'close').then(([code]) => ({ code: code as number | null, ...seen })) }
  }
  const psql = (...args: string[]) => start('psql', '--gateway', `localhost:${port()}`, ...args)

  /** At the address and with the code that the command shows. */
  async function signInAs(person: Person, text: () => string): Promise<void> {
    await waitUntil('a code to enter', () => /enter the code \S+/.test(text()))
    const [, address = '', code = ''] = /Open (\S+)\s+and enter the code (\S+)/.exec(text()) ?? []
    const browser = new Browser()
    const confirmation = await browser.submit(await browser.open(address), { user_code: code })
    await signInDevice(browser, await browser.submit(confirmation, { confirm: 'yes' }), person)
  }

  test('who signed in connects as themselves', async () => {
    const login = start('login')
    await signInAs(ana, () => login.seen.out)
    assert.equal((await login.ended).code, 0)
    const { code, out, errors } = await psql(name, ...read).ended
    assert.equal(code, 0, errors)
    assert.match(out, new RegExp(` aXXX@XXXX\\.com \\| ${ana.userPrincipalName}/`))
    const unsaid = await psql(...read).ended
    assert.equal(unsaid.code, 2)
    assert.match(unsaid.errors, /^masquerade: Say which database/)
  })

  // For somebody else that person has to sign in, and nothing of it is kept.
  clause(
    'GATE-36',
    '`masquerade psql` connects through the gateway as the signed-in person. With `--as` it…',
    async () => {
      const asked = psql('--as', bob.userPrincipalName, name, ...read)
      await signInAs(bob, () => asked.seen.errors)
      const { code, out, errors } = await asked.ended
      assert.equal(code, 0, errors)
      assert.match(out, new RegExp(` aXXX@XXXX\\.com \\| ${bob.userPrincipalName}/`))
      assert.doesNotMatch(out, /enter the code/)

      const tricked = psql('--as', bob.userPrincipalName, name, ...read)
      await signInAs(ana, () => tricked.seen.errors)
      const other = await tricked.ended
      assert.equal(other.code, 1)
      assert.match(
        other.errors,
        new RegExp(`${ana.userPrincipalName} signed in, and not ${bob.userPrincipalName}\\.`),
      )
      const { out: still } = await psql('--as', ana.userPrincipalName, name, ...read).ended
      assert.match(still, new RegExp(ana.userPrincipalName))
    },
  )

  clause(
    'SVC-122',
    '`masquerade psql --ca` reads the file once, too: the gateway proves itself by what the file held when the…',
    async () => {
      const ca = join(folder, 'named-ca.pem')
      await writeFile(ca, masking.service().listeners.ca ?? '')
      const asked = psql('--ca', ca, '--as', bob.userPrincipalName, name, ...read)
      await waitUntil('a code to enter', () => /enter the code \S+/.test(asked.seen.errors))
      const { ca: foreign } = await createCa(['localhost'], new Date())
      await writeFile(ca, toPem(foreign.certificate))
      await signInAs(bob, () => asked.seen.errors)
      const { code, errors } = await asked.ended
      assert.equal(code, 0, errors)
    },
  )
})
