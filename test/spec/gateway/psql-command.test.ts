import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createCa, toPem } from '../../../src/http/local-ca.ts'
import { clause } from '../../support/clause.ts'
import { findProgram } from '../../support/find-program.ts'
import { useGateway } from '../../support/gateway.ts'
import { addPerson, claimsOf } from '../../support/issuer.ts'
import { bindingOf } from '../../support/masked-database.ts'
import { bringPeople } from '../../support/people.ts'
import { runProgram } from '../../support/programs.ts'

const main = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url))
const hasPsql = findProgram('psql') !== undefined
const hasTerminal = findProgram('script') !== undefined

describe('masquerade psql', () => {
  const gateway = useGateway()
  const { masking, masked, db, name, port } = gateway
  let folder = ''
  let environment: Record<string, string> = {}
  before(async () => {
    const { dataDir, databaseUrl, auth, listeners } = masking.service()
    const origin = auth.identity.origin()
    folder = await mkdtemp(join(tmpdir(), 'masquerade-psql-'))
    for (const part of ['empty', 'fake', 'config']) await mkdir(join(folder, part))
    const { httpPort, httpsPort } = listeners
    const run = { pid: process.pid, host: '127.0.0.1', httpPort, httpsPort, origin, gatewayPort: port() }
    await writeFile(join(dataDir, 'run.json'), JSON.stringify(run))
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

  // Whoever is signed in connects as themselves, without the key of the service.
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
      [[], 1, /Nobody is signed in to .*--as/],
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
    const prompted = await psql(['--as', 'x', '--', '-A'], withoutPsql())
    assert.equal(prompted.code, 2)
    assert.match(prompted.errors, /psql is not installed/)
  })

  test('several databases are listed, none is guessed', async () => {
    const another = db.replace(/[^/]*$/, 'another')
    await masking.send('PUT', another, { properties: { binding: { ...bindingOf(masked().url), port: 1 } } })
    try {
      const { code, errors } = await psql(['--as', 'x'])
      assert.equal(code, 2)
      assert.equal(errors, `masquerade: Say which database:\n  another\n  ${name}\n`)
    } finally {
      await masking.send('DELETE', another)
    }
  })

  const script = [
    'select id, email from public.customers order by id;',
    "select 'a;b' as \"semi;colon\", 1.50 as number, E'two\\nlines' as text, null::text as nothing, '日本' as wide;",
    '\\x',
    'select id, name, born from public.customers; select 1 where false;',
    '\\x',
    'begin; create temp table t (id int); insert into t values (1), (2) returning id; update t set id = 3;',
    'copy t to stdout; select 1/0; select 2; rollback;',
    "do $$ begin raise notice 'a; b'; end $$;",
    'select * from nothere;',
    'select id,',
    '  é from public.customers;',
    'show search_path;',
    'table public.customers',
  ].join('\n')

  // It prints what psql prints.
  clause(
    'GATE-38',
    'Where psql is missing, a prompt takes its place that reads statements from a terminal, from …',
    async (t) => {
      if (!hasPsql) return t.diagnostic('not installed here')
      const as = ['--as', masked().role('analyst')]
      const ours = await psql(as, withoutPsql(), script)
      const theirs = await psql([...as, '--', '-X', '-P', 'null=NULL'], { PGPASSWORD: 'secret' }, script)
      assert.match(theirs.out, /aXXX@XXXX\.com/)
      assert.doesNotMatch(theirs.out, /@example/)
      assert.deepEqual(ours, theirs)
    },
  )

  // Both end with the same codes.
  clause(
    'GATE-38',
    'Where psql is missing, a prompt takes its place that reads statements from a terminal, from …',
    async () => {
      const file = join(folder, 'script.sql')
      await writeFile(file, 'select 1;\nselect nothing;\nselect 2;\n')
      const cases: [string[], string, number][] = [
        [['-c', 'select nothing'], '', 1],
        [['-c', 'select nothing', '-c', 'select 1'], '', 0],
        [['-c', 'select nothing', '-c', 'select 1', '--', '-v', 'ON_ERROR_STOP=1'], '', 1],
        [['-f', file, '--', '-v', 'ON_ERROR_STOP=1'], '', 3],
        [['--', '-v', 'ON_ERROR_STOP=1'], 'select 1;\nselect nothing;\nselect 2;', 3],
        [[], '\\set ON_ERROR_STOP on\nselect nothing;\nselect 2;', 3],
        [['-f', join(folder, 'missing.sql')], '', 1],
        [['-c', 'select pg_terminate_backend(pg_backend_pid())'], '', 2],
        [['-c', '\\d public.customers'], '', 0],
      ]
      for (const [args, input, code] of cases) {
        const all = ['--as', masked().role('analyst'), ...args]
        const both = hasPsql ? [withoutPsql(), { PGPASSWORD: 'secret' }] : [withoutPsql()]
        const ended = await Promise.all(both.map((more) => psql(all, more, input)))
        for (const [at, one] of ended.entries()) {
          assert.equal(one.code, code, `${args.join(' ')} (${at}): ${one.errors}`)
          if (code === 3) assert.doesNotMatch(one.out, /\n +2\n/)
        }
      }
      const wrong = await psql(['--as', masked().role('analyst'), '-c', 'select 1'], {
        ...withoutPsql(),
        PGPASSWORD: 'wrong',
      })
      assert.equal(wrong.code, 2)
      assert.match(wrong.errors, /^FATAL: {2}password authentication failed/)
    },
  )

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

  const untilAsleep = async (sessions = 1) => {
    for (;;) {
      const found = await masked().database.sql`
        select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`
      if (found.length >= sessions) return
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

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

  // At a terminal, Ctrl+C ends a statement and not the session.
  clause(
    'GATE-38',
    'Where psql is missing, a prompt takes its place that reads statements from a terminal, from …',
    async (t) => {
      if (!hasTerminal) return t.diagnostic('not installed here')
      for (const path of hasPsql
        ? [join(folder, 'empty'), process.env.PATH ?? '']
        : [join(folder, 'empty')]) {
        const command = [process.execPath, main, 'psql', '--as', masked().role('analyst')].join(' ')
        const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('PG'))
        const child = spawn(
          '/usr/bin/env',
          ['script', '-qefc', `PATH='${path}' exec ${command}`, '/dev/null'],
          {
            env: {
              ...Object.fromEntries(inherited),
              ...environment,
              PGPASSWORD: 'secret',
              PAGER: '',
              TERM: 'xterm',
            },
          },
        )
        const terminal = new Terminal(child)
        await terminal.waitFor(/=>/)
        await terminal.type('select email\r', /->/)
        await terminal.type('from public.customers where id = 1;\r', /aXXX@XXXX\.com\s[\s\S]*=>/)
        child.stdin?.write('select pg_sleep(60);\r')
        await untilAsleep()
        await terminal.type('\x03', /canceling statement due to user request[\s\S]*=>/)
        await terminal.type('select (\r', /\(>/)
        await terminal.type('\x03', /=>/)
        await terminal.type('begin; select 1/0;\r', /division by zero[\s\S]*=!>/)
        await terminal.type('select 6*7 as answer;\r\x03\x15rollback;\r', /ROLLBACK[\s\S]*=>/)
        await terminal.type('select 6*7 as answer;\r', /42/)
        child.stdin?.write('select pg_sleep(0.5);\r\x04')
        assert.equal(await terminal.ended, 0)
      }
    },
  )
})

class Terminal {
  readonly ended: Promise<number | null>
  readonly #child: ChildProcess
  #seen = ''
  constructor(child: ChildProcess) {
    this.#child = child
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#seen += text
    })
    this.ended = once(child, 'close').then(([code]) => code as number | null)
  }

  type(text: string, expected: RegExp): Promise<void> {
    this.#seen = ''
    this.#child.stdin?.write(text)
    return this.waitFor(expected)
  }

  async waitFor(expected: RegExp): Promise<void> {
    for (const until = Date.now() + 20_000; Date.now() < until; ) {
      if (expected.test(this.#seen)) return
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    throw new Error(`no ${expected} in: ${JSON.stringify(this.#seen)}`)
  }
}
