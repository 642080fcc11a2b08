import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { readChunks } from '../../../src/cli/import.ts'
import type { Database } from '../../../src/db/database.ts'
import { exportDirectory } from '../../../src/directory/transfer/export-directory.ts'
import { importDirectory } from '../../../src/directory/transfer/import-directory.ts'
import { ImportFailed } from '../../../src/directory/transfer/import-result.ts'
import { clause } from '../../support/clause.ts'
import { runCommand } from '../../support/command.ts'
import { fillDirectory } from '../../support/directory.ts'
import { createTestDatabase, type TestDatabase } from '../../support/postgres.ts'
import { runHere } from '../../support/run-here.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { waitUntil } from '../../support/wait-until.ts'

const userAdministrator = 'fe930be7-5e62-47db-91af-98c3a49a38b1'

async function importText(
  { transaction, sql }: Database,
  text: string,
  { chunkLength = 1000, format = 'json' as 'csv' | 'json', prune = false } = {},
) {
  const [instance] = await sql<{ tenant_id: string }[]>`select tenant_id from instance`
  const bytes = Buffer.from(text)
  async function* chunks() {
    for (let at = 0; at < bytes.length; at += chunkLength) yield bytes.subarray(at, at + chunkLength)
  }
  const tenantId = instance?.tenant_id ?? ''
  return await transaction((tx) =>
    importDirectory(tx, { tenantId, fileName: 'test', chunks: chunks(), format, prune }),
  )
}

async function exportText({ transaction, sql }: Database): Promise<string> {
  const [instance] = await sql<{ tenant_id: string }[]>`select tenant_id from instance`
  return await transaction(async (tx) => {
    let text = ''
    for await (const line of exportDirectory(tx, instance?.tenant_id ?? '')) text += line
    return text
  })
}

const lines = (...entries: object[]) => entries.map((entry) => `${JSON.stringify(entry)}\n`).join('')

const id = Object.fromEntries(
  ['ada', 'bo', 'all', 'sub', 'app', 'client', 'laptop', 'pen'].map((name) => [name, randomUUID()]),
) as Record<'ada' | 'bo' | 'all' | 'sub' | 'app' | 'client' | 'laptop' | 'pen', string>
const appId = randomUUID()
const custom = `extension_${appId.replaceAll('-', '')}_badge`

const user = (properties: object = {}) => ({
  type: 'user',
  accountEnabled: true,
  displayName: 'Ada "the first" Éxample\t\\N \u{1f600}',
  mailNickname: 'ada',
  userPrincipalName: `ada-${randomUUID()}@example.com`,
  ...properties,
})
const group = (properties: object = {}) => ({
  type: 'group',
  displayName: 'All',
  mailEnabled: false,
  mailNickname: 'all',
  securityEnabled: true,
  ...properties,
})

const company = [
  { type: 'application', id: id.app, displayName: 'Wiki', appId },
  {
    type: 'extensionProperty',
    id: randomUUID(),
    application: id.app,
    name: custom,
    dataType: 'String',
    targetObjects: ['User'],
  },
  { type: 'servicePrincipal', id: id.client, displayName: 'Wiki', appId },
  user({ id: id.ada, createdDateTime: '2020-02-03T04:05:06.123456Z', [custom]: '007' }),
  user({ id: id.bo, businessPhones: ['+32 1'] }),
  { type: 'orgContact', id: id.pen, displayName: 'Pen pal' },
  {
    type: 'device',
    id: id.laptop,
    displayName: 'Laptop',
    accountEnabled: true,
    deviceId: randomUUID(),
    operatingSystem: 'Linux',
    operatingSystemVersion: '6',
  },
  group({ id: id.all, unseenCount: 3, autoSubscribeNewMembers: true }),
  group({ id: id.sub, groupTypes: ['Unified'] }),
  { type: 'roleMember', roleTemplateId: userAdministrator, member: id.ada },
  { type: 'member', group: id.all, member: id.sub },
  { type: 'member', group: id.sub, member: id.all },
  { type: 'member', group: id.sub, member: id.ada },
  { type: 'member', group: id.all, member: id.laptop },
  { type: 'owner', object: id.all, owner: id.bo },
  {
    type: 'extension',
    object: id.ada,
    extensionName: 'com.example.roaming',
    applicationId: appId,
    data: { theme: 'dark', nested: { a: [1, null] } },
  },
]

describe('import and export', () => {
  let one: TestDatabase
  let other: TestDatabase

  before(async () => {
    one = await createTestDatabase()
    other = await createTestDatabase()
  })
  after(async () => {
    await one?.[Symbol.asyncDispose]()
    await other?.[Symbol.asyncDispose]()
  })

  clause(
    'DIR-146',
    'Directory objects and their relations can be imported and exported in bulk.',
    async () => {
      const { lines: counts, created } = await importText(one.database, lines(...company), { chunkLength: 7 })
      assert.equal(created, 17)
      assert.deepEqual(counts, { object: 9, member: 4, roleMember: 1, owner: 1, extension: 1, definition: 1 })
      const text = await exportText(one.database)
      const exported = text.trim().split('\n')
      const types = new Set(exported.map((line) => JSON.parse(line).type))
      for (const { type } of company) assert.ok(types.has(type), type)
      const ada = exported.map((line) => JSON.parse(line)).find((entry) => entry.id === id.ada)
      assert.deepEqual(ada, company[3])

      await importText(other.database, text)
      assert.equal(await exportText(other.database), text)
    },
  )

  test('every imported row is in the change log, in one gap-free run, and the import is audited', async () => {
    const rows = await one.database.sql<{ kind: string; revision: number; count: number }[]>`
      select kind, count(*) as count from change_log group by kind order by kind`
    assert.deepEqual(
      rows.map(({ kind, count }) => [kind, count]),
      [
        ['created', 9],
        ['extensionCreated', 1],
        ['memberAdded', 5],
        ['ownerAdded', 1],
      ],
    )
    const [range] = await one.database.sql`
      select min(revision) as first, max(revision) as last, (select max(value) from revision_counter) as counter
      from change_log`
    assert.deepEqual(range, { first: 1, last: 16, counter: 16 })
    const [audited] = await one.database.sql`select action, after from audit_event`
    assert.equal(audited?.action, 'import directory')
  })

  clause(
    'DIR-281',
    'An import changes only what differs: a second import of a file, or of an export, changes nothing. …',
    async () => {
      const text = await exportText(one.database)
      const revision = async () =>
        (await one.database.sql`select max(revision) as last from change_log`)[0]?.last
      const before = await revision()
      const again = await importText(one.database, text)
      assert.deepEqual([again.created, again.changed, again.removed], [0, 0, 0])
      assert.equal(again.unchanged, text.trim().split('\n').length - 1, 'roles are no objects of their own')
      assert.deepEqual([await exportText(one.database), await revision()], [text, before])

      const ada = { type: 'user', id: id.ada, jobTitle: 'Countess', [custom]: null }
      const bo = text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
        .find((entry) => entry.id === id.bo)
      const byName = { type: 'user', userPrincipalName: bo.userPrincipalName, department: 'Ships' }
      const unified = { type: 'group', displayName: 'All', groupTypes: ['Unified'], description: 'by name' }
      const extension = {
        type: 'extension',
        object: id.ada,
        extensionName: 'com.example.roaming',
        applicationId: appId,
        data: { theme: 'light' },
      }
      const member = { type: 'member', group: id.all, member: id.sub }
      const partly = await importText(one.database, lines(ada, byName, unified, extension, member))
      assert.deepEqual([partly.created, partly.changed, partly.unchanged], [0, 4, 1])
      const after = (await exportText(one.database))
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
      const find = (wanted: string) => after.find((entry) => entry.id === wanted)
      assert.equal(find(id.ada).jobTitle, 'Countess')
      assert.equal(custom in find(id.ada), false, 'null clears')
      assert.equal(find(id.ada).mailNickname, 'ada', 'what a line does not have stays')
      assert.equal(find(id.bo).department, 'Ships')
      assert.equal(find(id.sub).description, 'by name')
      assert.deepEqual(after.find((entry) => entry.type === 'extension').data, { theme: 'light' })
      const logged = await one.database.sql<{ kind: string }[]>`
        select kind from change_log where revision > ${before} order by revision`
      assert.deepEqual(
        logged.map(({ kind }) => kind),
        ['updated', 'updated', 'updated', 'extensionUpdated'],
      )
      const restored = await importText(one.database, text)
      assert.deepEqual([restored.created, restored.changed], [0, 2], 'what the file does not name stays')
    },
  )

  const unused = randomUUID()
  const cases: [string, string, [number, RegExp][]][] = [
    ['no JSON', '{"type":\n', [[1, /JSON/]]],
    ['a list', '[]\n', [[1, /no JSON object/]]],
    [
      'an unknown type',
      lines({ type: 'organization' }, { type: 'x' }, {}),
      [
        [1, /type/],
        [2, /type/],
        [3, /type/],
      ],
    ],
    [
      'a missing property',
      lines({ type: 'user', displayName: 'A' }),
      [[1, /required for property 'userPrincipalName'/]],
    ],
    ['a wrong value', lines(group({ mailNickname: 'a b' })), [[1, /mailNickname/]]],
    ['an unknown property', lines(group({ nick: 'x' })), [[1, /Invalid property 'nick'/]]],
    ['an undefined extension property', lines(group({ ext_x: 'x' })), [[1, /Invalid property 'ext_x'/]]],
    ['a value against its definition', lines(user({ [custom]: 7 })), [[1, /extension_/]]],
    ['a password', lines(user({ passwordProfile: { password: 'x' } })), [[1, /read-only/]]],
    [
      'properties of a group that do not go together',
      lines(
        group({ autoSubscribeNewMembers: true, subscriptionEnabled: false }),
        group({ isAssignableToRole: true, securityEnabled: false }),
        group({ assignedLabels: [{ labelId: randomUUID() }] }),
      ),
      [
        [1, /autoSubscribeNewMembers/],
        [2, /securityEnabled/],
        [3, /assignedLabels/],
      ],
    ],
    [
      'a secret that nobody knows',
      lines({ type: 'application', displayName: 'A', passwordCredentials: [{ hint: 'abc' }] }),
      [[1, /read-only/]],
    ],
    [
      'a role of a group that cannot hold roles',
      lines({ type: 'roleMember', roleTemplateId: userAdministrator, member: id.all }),
      [[1, /that can hold roles alone/]],
    ],
    ['a key twice', '{"type":"user","type":"user"}\n', [[1, /JSON/]]],
    ['NUL', lines(group({ displayName: 'a\0b' })), [[1, /displayName/]]],
    ['half a surrogate pair', '{"type":"orgContact","displayName":"\\ud800"}\n', [[1, /displayName/]]],
    ['an id twice', lines(group({ id: unused }), group({ id: unused })), [[2, /that of line 1/]]],
    ['an id of another kind', lines(group({ id: id.ada })), [[1, /in use/]]],
    [
      'a name that another object has',
      lines(group({ id: randomUUID(), groupTypes: ['Unified'] })),
      [[1, /mailNickname is in use/]],
    ],
    [
      'a property that only a creation sets',
      lines(group({ id: id.all, isAssignableToRole: true })),
      [[1, /isAssignableToRole cannot be changed/]],
    ],
    [
      'a name twice',
      lines(user({ userPrincipalName: 'x@y.z' }), user({ userPrincipalName: 'X@y.z' })),
      [[2, /userPrincipalName is that of line 1/]],
    ],
    ['a group that is not there', lines({ type: 'member', group: id.ada, member: id.bo }), [[1, /no group/]]],
    [
      'a member that is not there',
      lines({ type: 'member', group: id.all, member: randomUUID() }),
      [[1, /no member/]],
    ],
    ['a group in itself', lines({ type: 'member', group: id.all, member: id.all }), [[1, /in itself/]]],
    ['a malformed id', lines({ type: 'member', group: 'x', member: id.bo }), [[1, /identifier 'x'/]]],
    [
      'a membership twice',
      lines(
        { type: 'member', group: id.all, member: id.bo },
        { type: 'member', group: id.all, member: id.bo },
      ),
      [[2, /same as line 1/]],
    ],
    ['an owner of a user', lines({ type: 'owner', object: id.ada, owner: id.bo }), [[1, /no object/]]],
    [
      'a role that does not exist',
      lines({ type: 'roleMember', roleTemplateId: randomUUID(), member: id.bo }),
      [[1, /roleTemplateId/]],
    ],
    [
      'an extension of a name that is taken',
      lines({
        type: 'extension',
        object: id.ada,
        extensionName: 'COM.example.Roaming',
        applicationId: randomUUID(),
        data: {},
      }),
      [[1, /of this name/]],
    ],
    [
      'a third extension of an application',
      lines(
        ...[1, 2].map((n) => ({
          type: 'extension',
          object: id.ada,
          extensionName: `x${n}`,
          applicationId: appId,
          data: {},
        })),
      ),
      [[2, /2 extensions/]],
    ],
    ['a blank line before', `\n\n${lines({ type: 'x' })}`, [[3, /type/]]],
    [
      'faults of lines and of the whole',
      lines({ type: 'x' }, { type: 'member', group: id.ada, member: id.bo }),
      [
        [1, /type/],
        [2, /no group/],
      ],
    ],
  ]

  for (const [name, text, expected] of cases)
    test(`${name}: named by line, and nothing is kept`, async () => {
      const before = await exportText(one.database)
      const good = lines(user({ id: randomUUID() }))
      const failed = await importText(one.database, text + good).then(
        () => assert.fail('it was imported'),
        (error: unknown) => error,
      )
      assert.ok(failed instanceof ImportFailed, String(failed))
      assert.deepEqual(
        failed.faults.map(({ line }) => line),
        expected.map(([line]) => line),
        JSON.stringify(failed.faults),
      )
      for (const [at, [, reason]] of expected.entries()) assert.match(failed.faults[at]?.reason ?? '', reason)
      assert.equal(await exportText(one.database), before)
    })

  clause(
    'DIR-343',
    'In the CSV of memberships the form of a name decides what it names: a member with an `@` is a user alone, a UUID an id alone, …',
    async () => {
      const { database } = one
      const nameless = randomUUID()
      const gone = `gone-${nameless}@example.com`
      const name = (title: string) => `${title} ${nameless}`
      const [upn, userId, crewId] = [`ann-${nameless}@example.com`, randomUUID(), randomUUID()]
      await importText(
        database,
        lines(
          user({ id: userId, userPrincipalName: upn }),
          group({ id: crewId, displayName: name('Crew') }),
          group({ displayName: name('Inner') }),
          // Planted by a person who may create groups.
          ...[gone, upn, nameless, crewId, userId].map((displayName) => group({ displayName })),
        ),
      )
      const load = (...rows: string[]) =>
        importText(database, ['group,member', ...rows, ''].join('\n'), { format: 'csv' })
      const planted: [string, RegExp][] = [
        [`${name('Crew')},${gone}`, /^There is no user gone-/],
        [`${name('Crew')},${gone.toUpperCase()}`, /^There is no user GONE-/],
        [`${name('Crew')},${nameless}`, /^There is no user or group with the id /],
        [`${nameless},${upn}`, /^There is no group with the id /],
        [`${name('Crew')},${name('Nowhere')}`, /^There is no group Nowhere /],
      ]
      for (const [row, reason] of planted) {
        const failed: unknown = await load(row).catch((error: unknown) => error)
        assert.ok(failed instanceof ImportFailed, row)
        assert.match(failed.faults[0]?.reason ?? '', reason)
      }
      const { created } = await load(
        `${crewId.toUpperCase()},${upn.toUpperCase()}`,
        `${name('Crew')},${name('Inner')}`,
        `${name('Inner')},${userId.toUpperCase()}`,
      )
      assert.equal(created, 3)
      const members = await database.sql<{ name: string }[]>`
        select coalesce(user_principal_name, display_name) as name
        from member_edge join directory_object on id = member_id where container_id = ${crewId} order by kind desc`
      assert.deepEqual(
        members.map((member) => member.name),
        [upn, name('Inner')],
      )
    },
  )

  test('a file that is not UTF-8 is refused', async () => {
    const failed = await importText(one.database, '').then(async () => {
      const bytes = Buffer.concat([Buffer.from(lines(group())), Buffer.from([0xff, 0xfe, 0x0a])])
      const [instance] = await one.database.sql<{ tenant_id: string }[]>`select tenant_id from instance`
      async function* chunks() {
        yield bytes
      }
      return await one.database
        .transaction((tx) =>
          importDirectory(tx, { tenantId: instance?.tenant_id ?? '', fileName: 'x', chunks: chunks() }),
        )
        .catch((error: unknown) => error)
    })
    assert.ok(failed instanceof ImportFailed)
    assert.match(failed.faults[0]?.reason ?? '', /UTF-8/)
  })
})

describe('import and export from the command line', () => {
  let service: TestService
  before(async () => {
    service = await startTestService()
  })
  after(() => service?.[Symbol.asyncDispose]())

  test('a file goes in whole or not at all, and comes out again', async () => {
    const environment = {
      MASQUERADE_DATA_DIR: service.dataDir,
      MASQUERADE_DATABASE_URL: service.databaseUrl,
    }
    const good = join(service.dataDir, 'good.jsonl')
    const bad = join(service.dataDir, 'bad.jsonl')
    const out = join(service.dataDir, 'out.jsonl')
    await writeFile(good, lines(...company))
    await writeFile(bad, lines(user(), { type: 'member', group: id.all, member: randomUUID() }))

    const { user: someone, servicePrincipal } = service.tokens.shared
    const own = await service.database.sql<{ id: string; name: string }[]>`
      select id, display_name as name from directory_object where id <> all(${[someone, servicePrincipal]})`
    assert.ok(own.length > 5)
    const imported = await runCommand(['import', good], environment)
    assert.equal(imported.code, 0, imported.stderr)
    assert.match(
      imported.stdout,
      /imported 9 objects, 4 memberships, 1 role membership, 1 owner, 1 extension/,
    )

    const refused = await runHere(['import', bad], { environment })
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, /bad\.jsonl:2: There is no member /)
    assert.match(refused.stderr, /Nothing was imported/)

    const exported = await runCommand(['export', out], environment)
    assert.equal(exported.code, 0, exported.stderr)
    assert.equal((await stat(out)).mode & 0o777, 0o600)
    const text = await readFile(out, 'utf8')
    assert.ok(text.includes(id.ada))
    for (const row of own) assert.ok(!text.includes(row.id), row.name)
    const piped = await runHere(['export', '-'], { environment })
    assert.equal(piped.stdout, text)

    const again = await runHere(['import', good], { environment })
    assert.match(again.stdout, /: 0 created, 0 changed, 16 unchanged, 0 removed\.$/m, again.stderr)

    const wrong = [['import'], ['import', join(service.dataDir, 'nothing')], ['export', 'a', 'b']]
    for (const { code } of await Promise.all(wrong.map((args) => runHere(args, { environment }))))
      assert.notEqual(code, 0)
  })

  clause(
    'DIR-380',
    '`masquerade import` takes regular files alone, and fails where one has become shorter while it is read: an import that…',
    async () => {
      const environment = {
        MASQUERADE_DATA_DIR: service.dataDir,
        MASQUERADE_DATABASE_URL: service.databaseUrl,
      }
      // Like a pipe that was read to its end: it can be opened, and ends at once.
      for (const options of [[], ['--dry-run'], ['--prune', '--yes']]) {
        const { code, stderr } = await runHere(['import', '/dev/null', ...options], { environment })
        assert.equal(code, 1, stderr)
        assert.match(stderr, /\/dev\/null is no regular file/)
      }
      const path = join(service.dataDir, 'short.jsonl')
      const text = lines(user())
      const size = Buffer.byteLength(text)
      await writeFile(path, text)
      const progress = { say() {}, end() {} }
      const read = async (length: number) => {
        let bytes = Buffer.alloc(0)
        for await (const chunk of readChunks(path, { size: length }, progress))
          bytes = Buffer.concat([bytes, chunk])
        return bytes.toString()
      }
      assert.equal(await read(size), text)
      await assert.rejects(read(size + 1), /has become shorter/)
    },
  )

  clause(
    'DIR-387',
    'After its question `masquerade import --prune` imports the file that it asked about, and removes what it named: …',
    async () => {
      const { dataDir, databaseUrl } = service
      const environment = { MASQUERADE_DATA_DIR: dataDir, MASQUERADE_DATABASE_URL: databaseUrl }
      const directory = fillDirectory(service)
      const path = join(dataDir, 'asked.jsonl')
      const device = (displayName: string) => ({
        type: 'device',
        accountEnabled: true,
        deviceId: randomUUID(),
        displayName,
        operatingSystem: 'Linux',
        operatingSystemVersion: '1',
      })
      const living = async () => {
        const rows = await service.database.sql<{ name: string }[]>`
          select display_name as name from directory_object where kind = 'device' and deleted_at is null order by 1`
        return rows.map(({ name }) => name)
      }
      const prune = async (meanwhile: () => Promise<unknown>) => {
        await service.database.sql`delete from directory_object where kind = 'device'`
        await directory.device()
        await writeFile(path, lines(device('Asked')))
        const answer = async () => {
          await meanwhile()
          return 'y'
        }
        return runHere(['import', path, '--prune'], { environment, answer })
      }
      const replaced = await prune(() => writeFile(path, lines(device('Other'))))
      assert.equal(replaced.code, 1, replaced.stdout + replaced.stderr)
      assert.match(replaced.stderr, /has changed since it was read first\. Nothing was imported/)
      assert.deepEqual(await living(), ['A device'])

      const added = await prune(() => directory.add('device', { displayName: 'New', deviceId: randomUUID() }))
      assert.equal(added.code, 1, added.stdout + added.stderr)
      assert.match(added.stderr, /would be removed/)
      assert.deepEqual(await living(), ['A device', 'New'])

      const kept = await prune(async () => {})
      assert.equal(kept.code, 0, kept.stderr)
      assert.deepEqual(await living(), ['Asked'])
    },
  )

  clause(
    'DIR-397',
    'After its question `masquerade import --prune` compares what it removes by ids as well: …',
    async () => {
      const { dataDir, databaseUrl, tenantId } = service
      const { sql } = service.database
      const environment = { MASQUERADE_DATA_DIR: dataDir, MASQUERADE_DATABASE_URL: databaseUrl }
      const directory = fillDirectory(service)
      const path = join(dataDir, 'same-names.jsonl')
      const prune = (meanwhile = async () => {}) => {
        const answer = async () => {
          await meanwhile()
          return 'y'
        }
        return runHere(['import', path, '--prune'], { environment, answer })
      }
      const refuses = async (what: string, meanwhile: () => Promise<void>) => {
        const { code, stdout, stderr } = await prune(meanwhile)
        assert.equal(code, 1, `${what}: ${stdout}${stderr}`)
        assert.match(stderr, /would be removed\. Nothing was imported/)
      }
      const devices = async () => {
        const rows = await sql<{ id: string }[]>`
          select id from directory_object where kind = 'device' and deleted_at is null order by id`
        return rows.map(({ id }) => id)
      }
      const stays = {
        type: 'device',
        accountEnabled: true,
        deviceId: randomUUID(),
        displayName: 'Stays',
        operatingSystem: 'Linux',
        operatingSystemVersion: '1',
      }
      for (const count of [2, 120]) {
        await sql`delete from directory_object where kind = 'device'`
        for (let made = 0; made < count; made++) await directory.device()
        await writeFile(path, lines(stays))
        const former = (await devices()).at(-1) ?? ''
        let late = ''
        await refuses(`another of ${count} devices`, async () => {
          await sql`delete from directory_object where id = ${former}`
          late = await directory.device()
        })
        assert.ok((await devices()).includes(late), 'the device of the same name is not removed')
        const { code, stderr } = await prune()
        assert.equal(code, 0, stderr)
        assert.equal((await devices()).length, 1, 'the second time the operator was asked about it')
      }

      const [former, late] = [await directory.servicePrincipal(), await directory.servicePrincipal()]
      for (const kind of ['member', 'owner'] as const) {
        const [group, keeper] = [await directory.group(), await directory.user()]
        const table = sql(`${kind}_edge`)
        const [of, who] = kind === 'member' ? ['container_id', 'member_id'] : ['object_id', 'owner_id']
        const add = (id: string) =>
          sql`insert into ${table} (tenant_id, ${sql(of)}, ${sql(who)}) values (${tenantId}, ${group}, ${id})`
        await add(keeper)
        await add(former)
        const container = kind === 'member' ? 'group' : 'object'
        await writeFile(path, lines({ type: kind, [container]: group, [kind]: keeper }))
        await refuses(`another ${kind}`, async () => {
          await sql`delete from ${table} where ${sql(of)} = ${group} and ${sql(who)} = ${former}`
          await add(late)
        })
        const { count } =
          await sql`select from ${table} where ${sql(of)} = ${group} and ${sql(who)} = ${late}`
        assert.equal(count, 1, `the ${kind} of the same name is not removed`)
      }
    },
  )

  clause(
    'DIR-282',
    '`masquerade import` reads CSV with a header as well as JSON lines, and tells with `--dry-run` what would change. …',
    async () => {
      const environment = {
        MASQUERADE_DATA_DIR: service.dataDir,
        MASQUERADE_DATABASE_URL: service.databaseUrl,
      }
      const attempt = (...args: string[]) => runHere(['import', ...args], { environment })
      const run = async (...args: string[]) => {
        const { code, stdout, stderr } = await attempt(...args)
        assert.equal(code, 0, stderr)
        return stdout
      }
      const file = async (name: string, content: string) => {
        const path = join(service.dataDir, name)
        await writeFile(path, content)
        return path
      }
      const { sql } = service.database
      const names = async (kind: string) => {
        const rows = await sql<{ name: string }[]>`
          select coalesce(user_principal_name, display_name) as name from directory_object
          where kind = ${kind} and deleted_at is null order by 1`
        return rows.map(({ name }) => name)
      }

      const people = await file(
        'people.csv',
        '\uFEFFuserPrincipalName,displayName,department,businessPhones,accountEnabled,initialPassword\r\n' +
          'cy@example.com,"Cy, ""the third""",Sales,+32 2,yes,correct horse battery\r\n' +
          'di@example.com,"Di\nof two lines",,,no,\r\n',
      )
      assert.match(await run(people, '--dry-run'), /would import 2 objects: 2 created, 0 changed/)
      assert.equal((await names('user')).includes('cy@example.com'), false)
      const invited = await run(people, '--invite', '--hours', '5')
      assert.match(invited, /: 2 created, 0 changed, 0 unchanged, 0 removed\.\n/)
      assert.match(invited, /^di@example\.com,(\w{4}-){4}\w{4},20/m)
      assert.ok(!invited.includes('cy@example.com,'))
      const stored = await sql<{ properties: object; must_change: boolean; expires: boolean }[]>`
        select properties, must_change, expires_at is not null as expires
        from directory_object join user_password on user_id = id
        where user_principal_name in ('cy@example.com', 'di@example.com') order by user_principal_name`
      assert.deepEqual(
        stored.map(({ must_change, expires }) => [must_change, expires]),
        [
          [true, false],
          [true, true],
        ],
      )
      assert.deepEqual(stored[0]?.properties, {
        userPrincipalName: 'cy@example.com',
        displayName: 'Cy, "the third"',
        department: 'Sales',
        businessPhones: ['+32 2'],
        accountEnabled: true,
        mailNickname: 'cy',
      })
      assert.match(await run(people, '--invite'), /: 0 created, 0 changed, 2 unchanged, 0 removed\.\n$/)

      await run(await file('groups.csv', 'displayName,description\nCrew,All of them\n'))
      const members = await file('members.csv', 'group,member\nCrew,cy@example.com\nCrew,di@example.com\n')
      assert.match(await run(members), /imported 2 memberships: 2 created/)
      assert.match(await run(members), /: 0 created, 0 changed, 2 unchanged/)
      const faulty = await attempt(await file('bad.csv', 'group,member\nCrow,x@y.z\nCrew,x@y.z\n'))
      assert.match(faulty.stderr, /bad\.csv:2: There is no group Crow\.\n/)
      assert.match(faulty.stderr, /bad\.csv:3: There is no user x@y\.z\.\n/)
      const open = await attempt(await file('open.csv', 'displayName\n"x\n'))
      assert.match(open.stderr, /open\.csv:2: A quote is open/)
      const weak = await attempt(
        await file('weak.csv', 'userPrincipalName,displayName,initialPassword\new@example.com,Ew,short\n'),
      )
      assert.equal(weak.code, 1)
      assert.equal((await names('user')).includes('ew@example.com'), false)

      const fewer = await file('fewer.csv', 'group,member\nCrew,cy@example.com\n')
      assert.equal((await attempt(fewer, '--prune')).code, 2, 'it asks on a terminal')
      assert.match(
        await run(fewer, '--prune', '--dry-run'),
        /: 0 created, 0 changed, 1 unchanged, 1 removed\.\n- member di@example\.com of Crew\n$/,
      )
      assert.match(await run(fewer, '--prune', '--yes'), /: 0 created, 0 changed, 1 unchanged, 1 removed\./)
      const [edge] = await sql<{ count: number }[]>`
        select count(*)::int as count from member_edge join directory_object o on o.id = container_id
        where o.display_name = 'Crew'`
      assert.equal(edge?.count, 1)

      const administrator = service.administrator?.userPrincipalName ?? ''
      const own = await names('servicePrincipal')
      const one = await file('one.csv', 'userPrincipalName,displayName\ncy@example.com,Cy\n')
      const listed = await run(one, '--prune', '--dry-run')
      assert.match(listed, /^- user di@example\.com$/m)
      assert.ok(!listed.includes(administrator))
      await run(one, '--prune', '--yes')
      assert.deepEqual(await names('user'), [administrator, 'cy@example.com'].sort())
      assert.deepEqual(await names('servicePrincipal'), own)
      const refused = await attempt(
        await file('last.csv', `userPrincipalName,accountEnabled\n${administrator},no\n`),
      )
      assert.equal(refused.code, 1)
      assert.match(refused.stderr, /Global Administrator/)
    },
  )

  /** A group is created while the import waits for a lock in a statement like this one. */
  const createGroupWhile = async (statement: string) => {
    await waitUntil('the import waits', async () => {
      const rows = await service.database.sql`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
          and query like ${statement}`
      return rows.length > 0
    })
    let status = 0
    const token = service.tokenFor({ kind: 'application', permissions: ['Group.Create'] })
    void service
      .request('POST', '/v1.0/groups', { token, body: group({ type: undefined }) })
      .then((answer) => {
        status = answer.status
      })
    await waitUntil('the group is created meanwhile', () => status === 201)
  }

  clause(
    'DIR-359',
    'Other writes of the directory do not wait while an import makes the passwords of new users: they wait for it from…',
    async () => {
      const { database } = service
      const text = 'userPrincipalName,displayName,initialPassword\nfay@example.com,Fay,Long-enough-42\n'
      const { importing } = await database.transaction(async (tx) => {
        await tx`lock table user_password in share mode`
        const importing = importText(database, text, { format: 'csv' })
        await createGroupWhile('%into user_password%')
        return { importing }
      })
      assert.equal((await importing).created, 1)
    },
  )

  clause(
    'DIR-360',
    'Nor do they wait while `--prune` removes objects, memberships and owners: an import logs its changes behind the last…',
    async () => {
      const { database } = service
      const { sql } = database
      const [instance] = await sql<{ tenant_id: string }[]>`select tenant_id from instance`
      const tenantId = instance?.tenant_id ?? ''
      const device = (id: string) => ({
        type: 'device',
        id,
        accountEnabled: true,
        deviceId: randomUUID(),
        displayName: 'x',
        operatingSystem: 'Linux',
        operatingSystemVersion: '1',
      })
      const [lost, kept, owner] = [randomUUID(), randomUUID(), randomUUID()]
      const devices = [device(lost), device(kept)]
      await importText(database, lines(...devices), { prune: true })
      await importText(database, lines(user({ id: owner })))
      const newest = async () =>
        (await sql<{ value: number }[]>`select value from revision_counter`)[0]?.value ?? 0
      const begin = await newest()
      // The device that the file gives an owner is none of its own: it is purged in the same import.
      const file = lines(device(randomUUID()), devices[1] ?? {}, {
        type: 'owner',
        object: lost,
        owner,
      })
      const { importing } = await database.transaction(async (tx) => {
        // As a change of the device does: its owner is added beside it.
        await tx`select from directory_object where tenant_id = ${tenantId} and id = ${lost} for no key update`
        const importing = importText(database, file, { prune: true })
        await createGroupWhile('%spoken_object%for update')
        return { importing }
      })
      assert.equal((await importing).removed, 1)
      const logged = await sql<{ revision: number; entity: string; kind: string }[]>`
        select revision, entity, kind from change_log where revision > ${begin} order by revision`
      assert.deepEqual(
        logged.map(({ revision, entity, kind }) => `${revision - begin} ${entity} ${kind}`),
        ['1 group created', '2 device created', '3 device ownerAdded', '4 device purged'],
      )
    },
  )
})
