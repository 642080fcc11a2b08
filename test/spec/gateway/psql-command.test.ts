import assert from 'node:assert/strict'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { writeRunFile } from '../../../src/cli/run-file.ts'
import { createCa, toPem } from '../../../src/http/local-ca.ts'
import { clause } from '../../support/clause.ts'
import { findProgram } from '../../support/find-program.ts'
import { useGateway } from '../../support/gateway.ts'
import { addPerson, claimsOf } from '../../support/issuer.ts'
import { bindingOf } from '../../support/masked-database.ts'
import { bringPeople } from '../../support/people.ts'
import { runProgram } from '../../support/programs.ts'
import { waitUntil } from '../../support/wait-until.ts'

const main = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url))
const hasPsql = findProgram('psql') !== undefined

describe('masquerade psql', () => {
  const gateway = useGateway()
  const { masking, masked, db, name, port } = gateway
  let folder = ''
  let environment: Record<string, string> = {}
  before(async () => {
    const { dataDir, databaseUrl } = masking.service()
    folder = await mkdtemp(join(tmpdir(), 'masquerade-psql-'))
    for (const part of ['empty', 'fake', 'config']) await mkdir(join(folder, part))
    await writeRunFile(dataDir, masking.service())
    const fake = `#!/bin/sh\nprintf '%s\\n' "$@"; env | grep ^PG | sort; exit 7\n`
    await writeFile(join(folder, 'fake', 'psql'), fake)
    await chmod(join(folder, 'fake', 'psql'), 0o755)
    environment = {
      MASQUERADE_DATA_DIR: dataDir,
      MASQUERADE_DATABASE_URL: databaseUrl,
      XDG_CONFIG_HOME: join(folder, 'config'),
    }
  })
  after(() => rm(folder, { recursive: true, force: true }))

  const psql = (args: readonly string[], more: Record<string, string> = {}, input = '') =>
    runProgram(process.execPath, [main, 'psql', ...args], { ...environment, ...more }, input)
  const withoutPsql = () => ({ PATH: join(folder, 'empty'), PGPASSWORD: 'secret' })
  /** In the place of psql, a program that shows what it was given. */
  const shown = async (...args: string[]) => {
    const PATH = `${join(folder, 'fake')}${delimiter}${process.env.PATH}`
    const ended = await psql(args, { PATH, PGSERVICE: 'elsewhere', PGHOSTADDR: '192.0.2.1' })
    assert.equal(ended.code, 7, ended.errors)
    const lines = ended.out.trim().split('\n')
    const given = lines.filter((line) => /^PG\w+=/.test(line)).map((line) => line.split(/=(.*)/s))
    const pg: Record<string, string> = Object.fromEntries(given)
    return { args: lines.filter((line) => !/^PG\w+=/.test(line)), pg, out: ended.out }
  }

  // A user whom the operator names.
  clause(
    'GATE-36',
    '`masquerade psql` connects through the gateway as the signed-in person. With `--as` it…',
    async () => {
      const { dataDir, auth, database } = masking.service()
      const person = await addPerson(masking.service())
      const { args, pg } = await shown(
        '--as',
        person.userPrincipalName.toUpperCase(),
        '-c',
        'select 1',
        '--',
        '-At',
      )
      assert.deepEqual(args, ['--command', 'select 1', '-At'])
      const { PGPASSWORD = '', ...others } = pg
      assert.deepEqual(others, {
        PGCHANNELBINDING: 'disable',
        PGDATABASE: name,
        PGGSSENCMODE: 'disable',
        PGHOST: 'localhost',
        PGHOSTADDR: '127.0.0.1',
        PGPORT: String(port()),
        PGSSLMODE: 'verify-full',
        PGSSLROOTCERT: join(dataDir, 'tls', 'ca.pem'),
        PGUSER: person.userPrincipalName.toUpperCase(),
      })
      const caller = await auth.gatekeeper.authenticate(`Bearer ${PGPASSWORD}`)
      assert.equal(caller.objectId, person.id)
      assert.equal(claimsOf(PGPASSWORD).scp, 'user_impersonation')
      const [entry] = await database.sql<{ actor: { kind: string }; after: { oid: string; scp: string } }[]>`
      select actor, after from audit_event where action = 'issueOperatorToken' order by id desc limit 1`
      assert.equal(entry?.actor.kind, 'operator')
      assert.deepEqual([entry?.after.oid, entry?.after.scp], [person.id, 'user_impersonation'])
    },
  )

  // A person who is signed in connects as themselves, without the key of the service.
  clause(
    'GATE-36',
    '`masquerade psql` connects through the gateway as the signed-in person. With `--as` it…',
    async () => {
      const person = await addPerson(masking.service())
      const { origin, tokenFor, tokens, dataDir } = masking.service()
      const accessToken = tokenFor({ principal: person.id, permissions: ['user_impersonation'] })
      await tokens.settled()
      const session = (url: string) => ({
        url,
        caFile: join(dataDir, 'tls', 'ca.pem'),
        userPrincipalName: person.userPrincipalName,
        accessToken,
        expiresAtMs: Date.now() + 3_600_000,
        refreshToken: null,
      })
      const file = join(folder, 'config', 'masquerade', 'session.json')
      await mkdir(join(folder, 'config', 'masquerade'), { recursive: true })
      try {
        await writeFile(file, JSON.stringify(session(origin)))
        const own = await shown()
        assert.deepEqual([own.pg.PGUSER, own.pg.PGPASSWORD], [person.userPrincipalName, accessToken])
        assert.equal(own.pg.PGPORT, String(port()))

        await writeFile(file, JSON.stringify(session('https://masks.example.com')))
        const far = await shown('shop')
        assert.deepEqual(
          [far.pg.PGHOST, far.pg.PGPORT, far.pg.PGHOSTADDR, far.pg.PGPASSWORD, far.pg.PGSSLMODE],
          ['masks.example.com', '6432', undefined, accessToken, 'verify-full'],
        )
        const led = await shown('--gateway', 'db.example.com:7', 'shop')
        assert.deepEqual([led.pg.PGHOST, led.pg.PGPORT], ['db.example.com', '7'])
        const unsaid = await psql([])
        assert.deepEqual([unsaid.code, unsaid.errors.split('\n').length], [2, 2], unsaid.errors)
      } finally {
        await rm(file)
      }
    },
  )

  test('what cannot be is said in one line', async () => {
    const attempts: [string[], number, RegExp][] = [
      [[], 1, /Not signed in to .*--as/],
      [['--as', 'nobody@example.com'], 1, /There is no user 'nobody@example\.com'/],
      [['--as', 'c0ffee00-0000-4000-8000-000000000000'], 2, /takes a user or a role/],
      [['one', 'two'], 2, /Name one database/],
      [['--gateway', 'a:b:c', '--as', 'x'], 2, /HOST:PORT/],
      [['--as', 'x', '--nothing'], 2, /--nothing/],
    ]
    for (const [args, code, said] of attempts) {
      const ended = await psql(args)
      assert.equal(ended.code, code, `${args.join(' ')}: ${ended.errors}`)
      assert.match(ended.errors, said)
      assert.match(ended.errors, /^masquerade: [^\n]+\n$/)
    }
  })

  test('several databases are listed, none is guessed', async () => {
    const another = db.replace(/[^/]*$/, 'another')
    await masking.send('PUT', another, { properties: { binding: { ...bindingOf(masked().url), port: 1 } } })
    try {
      const { code, errors } = await psql(['--as', 'x'])
      assert.equal(code, 2)
      // A binding that never logged in has no short name (GATE-114).
      const whole = another.replace(
        /^\/subscriptions\/([^/]+)\/resourceGroups\/([^/]+)\/.*\/servers\/([^/]+)\/.*/i,
        '$1/$2/$3',
      )
      assert.equal(errors, `masquerade: Say which database:\n  ${whole.toLowerCase()}/another\n  ${name}\n`)
    } finally {
      await masking.send('DELETE', another)
    }
  })

  const words = (text: string) => text.replaceAll(/[ \t]+/g, ' ').replaceAll(/ $/gm, '')

  // Commands print what psql prints, up to the spaces that align it.
  clause(
    'GATE-38',
    'Where psql is missing, `masquerade psql -c` still runs each command as one simple query…',
    async (t) => {
      if (!hasPsql) return t.diagnostic('not installed here')
      const commands = [
        'select id, email from public.customers order by id',
        "select 'a;b' as \"semi;colon\", 1.50 as number, null::text as nothing, '日本' as wide; select 1 where false",
        'begin; create temp table t (id int); insert into t values (1), (2) returning id; update t set id = 3; commit',
        "do $$ begin raise notice 'a; b'; end $$",
        'show search_path',
      ]
      const args = ['--as', masked().role('analyst'), ...commands.flatMap((text) => ['-c', text])]
      const ours = await psql(args, withoutPsql())
      const theirs = await psql([...args, '--', '-X'], { PGPASSWORD: 'secret' })
      assert.match(theirs.out, /aXXX@XXXX\.com/)
      assert.doesNotMatch(theirs.out, /@example/)
      assert.deepEqual([ours.code, words(ours.out)], [theirs.code, words(theirs.out)])
      assert.equal(ours.errors, theirs.errors)
    },
  )

  // Both end with the same codes.
  clause(
    'GATE-38',
    'Where psql is missing, `masquerade psql -c` still runs each command as one simple query…',
    async () => {
      const cases: [string[], number][] = [
        [['-c', 'select nothing'], 1],
        [['-c', 'select nothing', '-c', 'select 1'], 0],
        [['-c', 'select 1; select nothing; select 2'], 1],
        [['-c', 'select pg_terminate_backend(pg_backend_pid())'], 2],
        [['-c', ''], 0],
      ]
      for (const [args, code] of cases) {
        const all = ['--as', masked().role('analyst'), ...args]
        const both = hasPsql ? [withoutPsql(), { PGPASSWORD: 'secret' }] : [withoutPsql()]
        const ended = await Promise.all(both.map((more) => psql(all, more)))
        for (const [at, one] of ended.entries())
          assert.equal(one.code, code, `${args.join(' ')} (${at}): ${one.errors}`)
      }
      const wrong = await psql(['--as', masked().role('analyst'), '-c', 'select 1'], {
        ...withoutPsql(),
        PGPASSWORD: 'wrong',
      })
      assert.equal(wrong.code, 2)
      assert.match(wrong.errors, /^FATAL: {2}password authentication failed/)
    },
  )

  // A session, a file and psql's own arguments need psql.
  clause(
    'GATE-38',
    'Where psql is missing, `masquerade psql -c` still runs each command as one simple query…',
    async () => {
      for (const args of [[], ['-f', 'script.sql'], ['-c', 'select 1', '--', '-A']]) {
        const { code, out, errors } = await psql(['--as', 'x', ...args], withoutPsql(), 'select 1;')
        assert.deepEqual([code, out], [2, ''], errors)
        assert.match(
          errors,
          /^masquerade: psql is not installed[^\n]+postgresql-client[^\n]+brew install libpq[^\n]+\n$/,
        )
      }
    },
  )

  test('nothing in a row commands the terminal', async () => {
    const text = "select E'a\\x1b[2J\\x07\\u009b\\u202eb\\tc\\rd\\ne' as odd"
    const { out, errors } = await psql(['--as', masked().role('analyst'), '-c', text], withoutPsql())
    assert.ok(out.includes('a\\x1B[2J\\x07\\u009B\\u202Eb\\x09c\\x0Dd\\ne'), out + errors)
    assert.doesNotMatch(out, /[^\n\P{Cc}]/u)
  })

  // A gateway that the CA does not vouch for.
  clause(
    'GATE-37',
    'The token is in the environment of psql and nowhere else, and is never sent to a gateway…',
    async () => {
      const other = join(folder, 'other.pem')
      await writeFile(other, toPem((await createCa(['localhost'], new Date())).ca.certificate))
      for (const more of hasPsql ? [withoutPsql(), { PGPASSWORD: 'secret' }] : [withoutPsql()]) {
        const args = ['--as', masked().role('analyst'), '--ca', other, '-c', 'select 1']
        const ended = await psql(args, more)
        assert.equal(ended.code, 2, ended.errors)
        assert.match(ended.errors, /certificate/)
      }
    },
  )

  const untilAsleep = (sessions = 1) =>
    waitUntil('a statement that sleeps', async () => {
      const found = await masked().database.sql`
        select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`
      return found.length >= sessions
    })

  test('a person of the directory gets masked rows, and the end of the mapping ends the session', async () => {
    const people = await bringPeople(gateway)
    const group = await people.directory.group()
    const { name: user } = await people.user(group)
    const mapping = await people.map(group)
    const both = hasPsql ? [{ PATH: join(folder, 'empty') }, {}] : [{ PATH: join(folder, 'empty') }]
    for (const more of both) {
      const seen = await psql(['--as', user, '-c', 'select email, current_user from public.customers'], more)
      assert.equal(seen.code, 0, seen.errors)
      assert.match(seen.out, new RegExp(` aXXX@XXXX\\.com \\| ${user}/`))
      assert.doesNotMatch(seen.out, /@example\.com \|/)
    }
    const asleep = both.map((more) => psql(['--as', user, '-c', 'select pg_sleep(60)'], more))
    await untilAsleep(both.length)
    await masking.send('DELETE', mapping)
    for (const { code, errors } of await Promise.all(asleep)) {
      assert.equal(code, 2)
      assert.match(errors, /^FATAL: {2}terminating connection due to administrator command$/m)
    }
    for (const more of both) {
      const { code, errors } = await psql(['--as', user, '-c', 'select 1'], more)
      assert.equal(code, 2)
      assert.match(errors, /FATAL: {2}no role of this database is mapped to/)
    }
  })
})
