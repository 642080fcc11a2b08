import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { writeRunFile } from '../../../src/cli/run-file.ts'
import { clause } from '../../support/clause.ts'
import { runCommand } from '../../support/command.ts'
import { createMaskedDatabase } from '../../support/masked-database.ts'
import { emailRule, freshDatabase, policyUrl, useMasking } from '../../support/masking.ts'
import { runHere } from '../../support/run-here.ts'

const { service, putRule, putPolicy, listRules, getPolicy, send } = useMasking()

let folder = ''
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'masquerade-test-'))
})
after(() => rm(folder, { recursive: true, force: true }))

const shortOf = (db: string) =>
  db
    .split('/')
    .filter((_, at) => [2, 4, 8, 10].includes(at))
    .join('/')

async function run(...args: string[]) {
  const token = service().tokenFor({ role: 'Owner' })
  await service().tokens.settled()
  const access = ['--url', service().origin, '--token', token]
  return runHere([...args, ...access], { environment: { XDG_CONFIG_HOME: folder } })
}

async function write(name: string, content: string): Promise<string> {
  const file = join(folder, name)
  await writeFile(file, content)
  return file
}

test('rules are set, listed and deleted', async () => {
  const db = freshDatabase()
  const d = shortOf(db)
  const set = await run(
    'rules',
    'set',
    '-d',
    d,
    'my mail',
    '--column',
    'public.person.email',
    '--function',
    'Email',
  )
  assert.deepEqual([set.code, set.stdout], [0, 'my mail is set (Not bound).\n'])
  await run(
    'rules',
    'set',
    '-d',
    db,
    'pay',
    '--column',
    'public."odd.table"."sal""ary"',
    '--function',
    'Number',
    '--from',
    '1',
    '--to',
    '9.50',
  )
  await run(
    'rules',
    'set',
    '-d',
    d,
    'phone',
    '--column',
    'a.b.c',
    '--function',
    'Text',
    '--prefix',
    '1',
    '--suffix',
    '2',
    '--replacement',
    '*',
  )
  const { stdout } = await run('rules', 'list', '-d', d)
  assert.equal(
    stdout,
    [
      'phone\ta.b.c Text prefixSize="1" suffixSize="2" replacementString="*"\n',
      'pay\tpublic."odd.table"."sal\\"ary" Number numberFrom="1" numberTo="9.50"\n',
      'my mail\tpublic.person.email Email\n',
    ].join(''),
  )
  const listed = JSON.parse((await run('rules', 'list', '-d', d, '--json')).stdout)
  assert.equal(listed[1].columnName, 'sal"ary')
  assert.equal((await run('rules', 'delete', '-d', d, 'MY MAIL')).code, 0)
  const again = await run('rules', 'delete', '-d', d, 'my mail')
  assert.deepEqual([again.code, again.stderr], [5, "masquerade: There is no rule 'my mail'.\n"])
  assert.equal((await listRules(db)).length, 2)
})

test('what the service refuses is said in one line', async () => {
  const d = shortOf(freshDatabase())
  const refused = await run('rules', 'set', '-d', d, 'r', '--column', 'a.b.c', '--function', 'Number')
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /^masquerade: .*'properties\.numberFrom' is required.*\n$/)
  for (const args of [
    ['rules', 'list', '-d', 'a/b/c'],
    ['rules', 'set', '-d', d, 'r', '--column', 'a.b', '--function', 'Email'],
    ['database', 'bind', d],
  ]) {
    const { code, stderr } = await run(...args)
    assert.equal(code, 2, args.join(' '))
    assert.match(stderr, /^masquerade: [^\n]+\n$/)
  }
  const plain = await runHere(['rules', 'list', '-d', d, '--url', 'http://example.com', '--token', 'x'], {
    environment: { XDG_CONFIG_HOME: folder },
  })
  assert.equal(plain.code, 2)
  assert.match(plain.stderr, /neither an https address/)
})

const rulesFile = (database: string) => `
database: ${database}
policy: { dataMaskingState: Enabled, exemptPrincipals: [auditor, dba] }
rules:
  - { name: mail, schemaName: public, tableName: person, columnName: email, maskingFunction: Email }
  - name: pay
    schemaName: public
    tableName: person
    columnName: salary
    maskingFunction: Number
    numberFrom: 0.10
    numberTo: 007
  - name: 12
    schemaName: public
    tableName: person
    columnName: yes
    maskingFunction: Text
    replacementString: "null"
`

test('apply makes the rules those of the file, and deletes only when told to', async () => {
  const db = freshDatabase()
  await putRule(db, 'MAIL', { ...emailRule, maskingFunction: 'Default' })
  await putRule(db, 'old', { ...emailRule, columnName: 'old' })
  const file = await write('rules.yaml', rulesFile(shortOf(db)))
  const before = await listRules(db)

  const asked = await run('rules', 'apply', '-f', file)
  assert.equal(asked.code, 2, 'nobody is there to ask')
  const dry = await run('rules', 'apply', '-f', file, '--dry-run')
  assert.equal(dry.code, 0)
  assert.equal(
    dry.stdout,
    [
      '+ pay: public.person.salary Number numberFrom="0.10" numberTo="007"',
      '+ 12: public.person.yes Text replacementString="null"',
      '~ mail:',
      '    maskingFunction: "Default" → "Email"',
      '  old is not in the file, and stays without --prune',
      '~ policy: Enabled (exempt: none) → Enabled (exempt: auditor; dba)',
      'No statement would run in the database.',
      '',
    ].join('\n'),
  )
  assert.deepEqual(await listRules(db), before)

  const done = await run('rules', 'apply', '-f', file, '--yes')
  assert.equal(done.code, 0, done.stderr)
  assert.match(done.stdout, /Done: 2 created, 1 updated, 0 deleted, 0 as they were/)
  assert.equal((await listRules(db)).length, 4)
  assert.equal((await getPolicy(db)).body.properties.exemptPrincipals, 'auditor;dba')

  const pruned = await run('rules', 'apply', '-f', file, '--yes', '--prune')
  assert.match(pruned.stdout, /- old: public\.person\.old Email/)
  assert.equal((await listRules(db)).length, 3)
  const again = await run('rules', 'apply', '-f', file, '--prune')
  assert.equal(again.stdout, 'Nothing to change: 3 rules are as the file says.\n')
})

test('what export writes, apply reads', async () => {
  const [db, copy] = [freshDatabase(), freshDatabase()]
  await putRule(db, `odd: "name" # 'x'`, {
    ...emailRule,
    schemaName: 'yes',
    tableName: '1e3',
    columnName: '- a: b',
  })
  await putRule(db, 'n', { ...emailRule, maskingFunction: 'Number', numberFrom: '-0.50', numberTo: '1' })
  await putRule(db, 't', { ...emailRule, columnName: '🙂', maskingFunction: 'Text', replacementString: '' })
  await putPolicy(db, { dataMaskingState: 'Disabled', exemptPrincipals: `a b;'c'` })
  const documentOf = (of: string) => `${policyUrl(of)}/document?api-version=2026-11-01`
  const { properties: stored } = (await send('GET', documentOf(db))).body
  const chosen = { ...stored.policy, enforcementMode: 'Observe', notContained: 'refuse' }
  const put = await send('PUT', documentOf(db), { properties: { ...stored, policy: chosen } })
  assert.equal(put.status, 200, put.text)
  const file = join(folder, 'export.yaml')
  assert.equal((await run('rules', 'export', '-d', shortOf(db), '-f', file)).code, 0)
  const { stdout } = await run('rules', 'export', '-d', shortOf(db))
  assert.equal(stdout, await readFile(file, 'utf8'))
  const applied = await run('rules', 'apply', '-f', file, '-d', shortOf(copy), '--yes')
  assert.equal(applied.code, 0, applied.stderr)
  const properties = async (of: string) =>
    (await listRules(of)).map((rule: { properties: object }) => rule.properties)
  assert.deepEqual(await properties(copy), await properties(db))
  assert.deepEqual((await send('GET', documentOf(copy))).body.properties.policy, chosen)
})

test('rules that take each other’s places are applied in an order that works', async () => {
  const db = freshDatabase()
  for (const columnName of ['a', 'b', 'c']) await putRule(db, columnName, { ...emailRule, columnName })
  const line = (name: string, columnName: string) =>
    `  - { name: ${name}, schemaName: public, tableName: person, columnName: ${columnName}, maskingFunction: Email }\n`
  const moved = `rules:\n${line('a', 'b')}${line('b', 'c')}${line('c', 'd')}`
  const file = await write('moved.yaml', moved)
  assert.equal((await run('rules', 'apply', '-f', file, '-d', shortOf(db), '--yes')).code, 0)

  const renamed = await write('renamed.yaml', `rules:\n${line('a', 'b')}${line('b', 'c')}${line('new', 'd')}`)
  const refused = await run('rules', 'apply', '-f', renamed, '-d', shortOf(db), '--yes')
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /new: .*'c'/)
  assert.equal((await run('rules', 'apply', '-f', renamed, '-d', shortOf(db), '--yes', '--prune')).code, 0)
  assert.equal((await listRules(db)).length, 3)
})

test('databases are bound, listed and unbound', async () => {
  const db = freshDatabase().replace('Srv', 'Bound')
  const password = await write('password', 'Sesame\n')
  const bound = await run(
    'database',
    'bind',
    shortOf(db),
    '--to',
    'postgres://masker@127.0.0.1:1/shop',
    '--password-file',
    password,
    '--anyway',
  )
  assert.equal(bound.code, 1)
  assert.match(bound.stdout, /masker@127\.0\.0\.1:1\/shop.*cannot be reached now: nothing listens/)
  assert.equal((await send('GET', db)).body.properties.binding.passwordSet, true)
  const list = await run('database', 'list', shortOf(db).replace(/\/[^/]+$/, ''))
  assert.match(list.stdout, /masker@127\.0\.0\.1:1\/shop sslmode=disable/)
  assert.doesNotMatch(bound.stdout + list.stdout, /Sesame/)
  assert.equal((await run('database', 'unbind', shortOf(db))).code, 0)
  assert.equal((await send('GET', db)).body.properties.binding, null)
})

test('whoever can read the data directory needs no token', async () => {
  const db = freshDatabase()
  await putRule(db, 'r', emailRule)
  const { dataDir, databaseUrl } = service()
  await writeRunFile(dataDir, service())
  const { code, stdout, stderr } = await runCommand(['rules', 'list', '-d', shortOf(db)], {
    XDG_CONFIG_HOME: folder,
    MASQUERADE_DATA_DIR: dataDir,
    MASQUERADE_DATABASE_URL: databaseUrl,
  })
  assert.equal(code, 0, stderr)
  assert.equal(stdout, 'r\tpublic.person.email Email\n')
})

clause(
  'ENF-74',
  '`masquerade rules` says what is pending or has failed, and ends with 4 when the state is `Pending` or `Failed`.',
  async () => {
    const db = freshDatabase()
    const binding = { host: '127.0.0.1', port: 1, database: 'away', user: 'nobody', password: 'none' }
    await send('PUT', db.replace(/\/databases\/.*/, ''), {})
    const args = ['--column', 'public.person.email', '--function', 'Email']
    await send('PUT', db, { properties: { binding } })
    const pending = await run('rules', 'set', '-d', shortOf(db), 'mail', ...args)
    assert.deepEqual([pending.code, pending.stdout], [4, 'mail is set (Pending).\n'])
    assert.match(pending.stderr, /Enforcement: Pending\. the database cannot be reached/)
    const { hostname, port, username, password } = new URL(service().databaseUrl)
    const away = {
      host: hostname,
      port: Number(port),
      database: 'away',
      user: username,
      password: decodeURIComponent(password),
    }
    await send('PUT', db, { properties: { binding: away } })
    const failed = await run('rules', 'set', '-d', shortOf(db), 'mail', ...args)
    assert.equal(failed.code, 4)
    assert.match(failed.stderr, /Enforcement: Failed\. the database does not exist/)
    const file = await write(
      'failed.yaml',
      `rules:\n  - { name: other, schemaName: public, tableName: person, columnName: name, maskingFunction: Default }\n`,
    )
    const applied = await run('rules', 'apply', '-d', shortOf(db), '-f', file, '--yes')
    assert.equal(applied.code, 4, applied.stderr)
    assert.match(applied.stdout, /^Stored, and not enforced yet: 1 created/m)
    const again = await run('rules', 'apply', '-d', shortOf(db), '-f', file, '--yes')
    assert.match(again.stdout, /Nothing to change/)
    assert.equal(again.code, 4, again.stderr)
  },
)

clause(
  'MASK-146',
  'A PUT of a database with `Prefer: reachable` is 400 `InvalidBinding` with the reason when the database does not let the role of the binding in, and the binding that was there stays; with `Prefer: keep-working` only where that one works. `masquerade database bind` sends the first, and with `--anyway` the second, prints the statements that a database lacks one a line, and writes them to a file with `--sql`.',
  async () => {
    const db = freshDatabase()
    const bind = (url: string, ...more: string[]) =>
      run('database', 'bind', shortOf(db), '--to', url, ...more)
    await using target = await createMaskedDatabase()
    await send('PUT', db.replace(/\/databases\/.*/, ''), {})
    const working = await bind(target.url)
    assert.equal(working.code, 0, working.stderr)
    const wrong = Object.assign(new URL(target.url), { password: 'wrong' }).href
    const refused = await bind(wrong)
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, /does not let us in: the user or the password is wrong/)
    const { binding, enforcement } = (await send('GET', db)).body.properties
    assert.equal(binding.user, decodeURIComponent(new URL(target.url).username))
    assert.equal(enforcement.state, 'NoRules')
    await target.createRole('weak')
    await target.database.sql.unsafe('create table public.person (id int)')
    const file = join(folder, 'missing.sql')
    const weak = await bind(target.urlOf('weak'), '--sql', file)
    assert.equal(weak.code, 1)
    const lines = (await readFile(file, 'utf8')).trimEnd().split('\n')
    assert.ok(
      lines.length >= 3 && lines.every((line) => /^(GRANT|CREATE ROLE|ALTER) .*;$/.test(line)),
      lines.join('\n'),
    )
    assert.equal(weak.stdout.trimEnd(), lines.join('\n'))
    const kept = await bind(wrong, '--anyway')
    assert.equal(kept.code, 1)
    assert.match(kept.stderr, /the password is wrong\. The present binding works, and stays/)
    assert.equal((await send('GET', db)).body.properties.enforcement.state, 'NoRules')
    assert.equal((await run('database', 'unbind', shortOf(db))).code, 0)
    const anyway = await bind(wrong, '--anyway')
    assert.match(anyway.stdout, /which cannot be reached now/)
    assert.equal((await bind(target.urlOf('weak'), '--anyway')).code, 1, 'missing rights are refused')
    assert.match((await bind(wrong, '--anyway')).stdout, /which cannot be reached now/)
    assert.equal((await bind(target.url)).code, 0)
  },
)

clause(
  'MASK-215',
  'The `host` of a binding may name the servers of one cluster, `one:5432,two:5432`, as psql takes…',
  async () => {
    const db = freshDatabase()
    await using target = await createMaskedDatabase()
    await send('PUT', db.replace(/\/databases\/.*/, ''), {})
    const { host } = new URL(target.url)
    const url = `${target.url.replace(host, `127.0.0.1:1,${host}`)}?sslmode=disable&target_session_attrs=read-write`
    const { code, stdout, stderr } = await run('database', 'bind', shortOf(db), '--to', url)
    assert.equal(code, 0, stderr)
    assert.match(
      stdout,
      new RegExp(`^Bound to \\S+@127\\.0\\.0\\.1:1,${host}/\\S+ sslmode=disable \\(PostgreSQL`),
    )
    assert.equal((await send('GET', db)).body.properties.binding.host, `127.0.0.1:1,${host}`)
  },
)
