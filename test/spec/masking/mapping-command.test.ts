import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { clause } from '../../support/clause.ts'
import { freshDatabase, useMasking } from '../../support/masking.ts'
import { runHere } from '../../support/run-here.ts'

const { service, send } = useMasking()

async function addObject(kind: string, properties: Record<string, string>): Promise<string> {
  const id = randomUUID()
  const { database, tenantId } = service()
  await database.sql`
    insert into directory_object (tenant_id, id, kind, properties)
    values (${tenantId}, ${id}, ${kind}, ${database.sql.json(properties)})`
  return id
}

async function run(permissions: readonly string[], ...args: string[]) {
  const token = service().tokenFor({ role: 'Owner', permissions })
  await service().tokens.settled()
  return runHere(['mapping', ...args, '--url', service().origin, '--token', token])
}
const reader = ['Directory.Read.All']
const list = async (db: string) => (await send('GET', `${db}/roleMappings`)).body.value

clause(
  'GATE-31',
  '`masquerade mapping add` finds a user by userPrincipalName, a group by a displayName that…',
  async () => {
    const db = freshDatabase()
    const add = (to: string, ...more: string[]) =>
      run(reader, 'add', '-d', db, '--role', 'readers', '--to', to, ...more)
    const ana = await addObject('user', { userPrincipalName: 'ana@contoso.com', displayName: 'Ana' })
    const sales = await addObject('group', { displayName: "Sales' readers" })
    const twice = [
      await addObject('group', { displayName: 'twice', description: 'the \x1b[31mfirst' }),
      await addObject('group', { displayName: 'twice' }),
    ]
    const appId = randomUUID()
    const robot = await addObject('servicePrincipal', { displayName: 'Robot', appId })
    const registration = await addObject('application', { displayName: 'Robot', appId })

    const user = await add('ANA@contoso.com')
    assert.deepEqual(
      [user.code, user.stdout],
      [0, `readers-ana@contoso.com: readers to user ana@contoso.com (${ana}) (NotBound).\n`],
      user.stderr,
    )
    assert.equal((await add('ana@contoso.com')).stdout, user.stdout)
    assert.equal((await add(ana)).stdout, user.stdout)
    const group = await add("Sales' readers", '--name', 'of sales', '--json')
    assert.equal(JSON.parse(group.stdout).properties.principalId, sales)
    const application = await add(appId.toUpperCase())
    assert.match(application.stdout, new RegExp(`^readers-Robot: .* application Robot \\(${robot}\\)`))
    assert.equal((await add(registration)).stdout, application.stdout)

    const ambiguous = await add('twice')
    assert.equal(ambiguous.code, 1)
    for (const id of twice) assert.match(ambiguous.stderr, new RegExp(`^ {2}${id}`, 'm'))
    assert.ok(!ambiguous.stderr.includes('\x1b'), 'nothing of others reaches the terminal as a command')
    const again = await add("Sales' readers")
    assert.equal(again.code, 1)
    assert.match(again.stderr, /by the mapping 'of sales'/)
    const taken = await add(twice[0] ?? '', '--name', 'OF sales')
    assert.equal(taken.code, 1)
    assert.match(taken.stderr, /^masquerade: There is a mapping 'of sales' for something else/)
    assert.equal((await list(db)).length, 3)

    const { stdout } = await run(reader, 'list', '-d', db)
    assert.deepEqual(stdout.split('\n').sort(), [
      '',
      `of sales\treaders to group Sales' readers (${sales})`,
      `readers-Robot\treaders to application Robot (${robot})`,
      `readers-ana@contoso.com\treaders to user ana@contoso.com (${ana})`,
    ])
    const { database } = service()
    await database.sql`update directory_object set deleted_at = now() where id = ${robot}`
    const listed = await run(reader, 'list', '-d', db)
    assert.match(listed.stdout, new RegExp(`^readers-Robot\treaders to ${robot}, who is gone$`, 'm'))
    assert.equal(JSON.parse((await run(reader, 'list', '-d', db, '--json')).stdout).length, 3)
    assert.equal((await run([], 'remove', '-d', db, 'READERS-robot')).code, 0)
    const gone = await run([], 'remove', '-d', db, 'readers-Robot')
    assert.deepEqual([gone.code, gone.stderr], [5, "masquerade: There is no mapping 'readers-Robot'.\n"])
  },
)

test('who may not read the directory maps by object id, and sees object ids', async () => {
  const db = freshDatabase()
  const group = await addObject('group', { displayName: 'closed' })
  const named = await run([], 'add', '-d', db, '--role', 'r', '--to', 'closed')
  assert.equal(named.code, 6)
  assert.match(named.stderr, /^masquerade: You may not look 'closed' up .* by its id\.\n$/)
  const added = await run([], 'add', '-d', db, '--role', 'r', '--to', group)
  assert.equal(added.stdout, `r-${group}: r to group ${group} (NotBound).\n`, added.stderr)
  assert.equal((await run([], 'list', '-d', db)).stdout, `r-${group}\tr to group ${group}\n`)
})

test('what cannot be is said in one line', async () => {
  const db = freshDatabase()
  const attempts: [string[], number, RegExp][] = [
    [[], 2, /Say list, add or remove/],
    [['show', '-d', db], 2, /There is no 'show'/],
    [['list'], 2, /--database/],
    [['add', '-d', db, '--role', 'r'], 2, /--role and --to/],
    [['remove', '-d', db], 2, /Name one mapping/],
    [['add', '-d', db, '--role', 'r', '--to', 'nobody@contoso.com'], 5, /no user 'nobody@contoso\.com'/],
    [['add', '-d', db, '--role', 'r', '--to', 'nothing'], 5, /no group 'nothing'/],
    [['add', '-d', db, '--role', 'r', '--to', randomUUID()], 1, /names no user, group or service principal/],
  ]
  for (const [args, code, said] of attempts) {
    const ended = await run(reader, ...args)
    assert.equal(ended.code, code, args.join(' '))
    assert.match(ended.stderr, said)
    assert.match(ended.stderr, /^masquerade: [^\n]+\n$/)
  }
})
