import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before } from 'node:test'
import { useBoundDatabase } from '../../support/bound-database.ts'
import { clause } from '../../support/clause.ts'
import { emailRule, freshDatabase, policyUrl } from '../../support/masking.ts'
import { runHere } from '../../support/run-here.ts'

const { masking, db: boundDb, bound } = useBoundDatabase()
const { send, putRule, putPolicy, listRules, getPolicy, service } = masking

const documentUrl = (db: string, version = '2026-11-01') => `${policyUrl(db)}/document?api-version=${version}`
const getDocument = (db: string) => send('GET', documentUrl(db))
const putDocument = (db: string, properties: object, headers?: Record<string, string>) =>
  send('PUT', documentUrl(db), { properties }, headers)
const mail = { name: 'mail', ...emailRule }

let folder = ''
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'masquerade-test-'))
})
after(() => rm(folder, { recursive: true, force: true }))

clause(
  'MASK-133',
  "`GET {db}/dataMaskingPolicies/Default/document` shows state, exempt principals and rules of a database as one document, with an entity tag that changes with any of them. The api-version of the resources of this service's own is `2026-11-01`; these resources also answer to `2014-04-01`.",
  async () => {
    const db = freshDatabase()
    const { status, body } = await getDocument(db)
    assert.equal(status, 200)
    assert.equal(body.id, `${policyUrl(db)}/document`)
    assert.deepEqual(body.properties, {
      policy: {
        dataMaskingState: 'Disabled',
        enforcementMode: 'Enforce',
        exemptPrincipals: [],
        notContained: 'report',
      },
      rules: [],
    })
    const tags = new Set<string | null>([(await getDocument(db)).headers.get('etag')])
    const changes = [
      () => putRule(db, 'mail', emailRule),
      () => putRule(db, 'other', { ...emailRule, columnName: 'other' }),
      () => putRule(db, 'mail', { ...emailRule, maskingFunction: 'Default' }),
      () => putPolicy(db, { dataMaskingState: 'Enabled', exemptPrincipals: 'a;b' }),
      () => send('DELETE', `${policyUrl(db)}/rules/other`),
      () => putRule(db, 'other', { ...emailRule, columnName: 'other' }),
    ]
    for (const [at, change] of changes.entries()) {
      await change()
      tags.add((await getDocument(db)).headers.get('etag'))
      assert.equal(tags.size, at + 2)
    }
    const shown = (await send('GET', documentUrl(db, '2014-04-01'))).body.properties
    assert.deepEqual(shown.policy, {
      dataMaskingState: 'Enabled',
      enforcementMode: 'Enforce',
      exemptPrincipals: ['a', 'b'],
    })
    assert.equal(shown.rules[0].name, 'mail')
    assert.equal(shown.rules[0].maskingFunction, 'Default')
    assert.equal(shown.rules[0].numberFrom, null)
  },
)

clause(
  'MASK-134',
  '`PUT {db}/dataMaskingPolicies/Default/document` replaces rules, state and exempt principals by those of the document in one transaction and answers 200 with the document and the number of rules that were created, updated, deleted and left unchanged. Rules that the document does not have are deleted; without `policy`, state and exemptions stay.',
  async () => {
    const db = freshDatabase()
    const other = { ...mail, name: 'other', columnName: 'other' }
    const first = await putDocument(db, { rules: [mail, other] })
    assert.equal(first.status, 200, first.text)
    assert.deepEqual(first.body.changes, { created: 2, updated: 0, deleted: 0, unchanged: 0 })
    assert.equal((await getPolicy(db)).body.properties.dataMaskingState, 'Enabled', 'as by a first rule')
    const policy = { dataMaskingState: 'Disabled', exemptPrincipals: [' app ', 'app', 'dba'] }
    // The two rules take each other's columns.
    const swapped = [
      { ...mail, columnName: 'other' },
      { ...other, columnName: 'email' },
    ]
    const second = await putDocument(db, { policy, rules: swapped })
    assert.deepEqual(second.body.changes, { created: 0, updated: 2, deleted: 0, unchanged: 0 })
    assert.deepEqual(second.body.properties.policy.exemptPrincipals, ['app', 'dba'])
    assert.equal(second.headers.get('etag'), (await getDocument(db)).headers.get('etag'))
    assert.deepEqual(second.body.properties, (await getDocument(db)).body.properties)
    const third = await putDocument(db, { rules: [swapped[0]] })
    assert.deepEqual(third.body.changes, { created: 0, updated: 0, deleted: 1, unchanged: 1 })
    assert.equal((await getPolicy(db)).body.properties.exemptPrincipals, 'app;dba')
    const stale = { 'if-match': first.headers.get('etag') ?? '' }
    assert.equal((await putDocument(db, { rules: [] }, stale)).status, 412)
    assert.equal((await listRules(db)).length, 1)
    const { body } = await send('GET', `${db}/auditEvents`)
    const actions = body.value.map(({ action }: { action: string }) => action.split('/').slice(-2).join('/'))
    assert.equal(actions.filter((action: string) => action === 'rules/write').length, 4)
    assert.equal(actions.filter((action: string) => action === 'rules/delete').length, 1)
  },
)

clause(
  'MASK-135',
  'A document is checked as a whole before anything is stored: each rule by itself, names and columns against each other, and every column against the catalog of the bound database. If anything is wrong it is 400 `InvalidMaskingDocument` with one entry in `details` per fault, by the place of the rule, and nothing is changed.',
  async () => {
    const before = (await getDocument(boundDb)).body
    const refused = async (rules: object[]) => {
      const { status, body } = await putDocument(boundDb, { rules })
      assert.deepEqual([status, body.error.code], [400, 'InvalidMaskingDocument'])
      return body.error.details.map(({ target, message }: { target: string; message: string }) => [
        target,
        message,
      ])
    }
    const typo = await refused([mail, { ...mail, name: 'typo', columnName: 'contat' }])
    assert.equal(typo[0][0], 'properties.rules[1].columnName')
    assert.match(
      typo[0][1],
      /of the rule 'typo' names no column of the bound database: 'contat'; did you mean 'contact'/,
    )
    const several = await refused([
      { ...mail, name: '' },
      { ...mail, name: 'twice' },
      { ...mail, name: 'TWICE', maskingFunction: 'Number', columnName: 'pay' },
    ])
    assert.deepEqual(
      several.map(([target]: string[]) => target),
      [
        'properties.rules[2].numberFrom',
        'properties.rules[2].numberTo',
        'properties.rules[0].name',
        'properties.rules[1].columnName',
        'properties.rules[2].name',
      ],
    )
    const policy = { dataMaskingState: 'Enabled', exemptPrincipals: ['a;b'] }
    assert.equal(
      (await putDocument(boundDb, { policy, rules: [] })).body.error.code,
      'InvalidMaskingDocument',
    )
    assert.deepEqual((await getDocument(boundDb)).body, before)
  },
)

clause(
  'MASK-136',
  '`masquerade rules apply` sends one document. Of a file with a fault nothing is applied, and the message names the file, the line, the rule and the field; a change made by another caller meanwhile is refused.',
  async () => {
    const before = (await getDocument(boundDb)).body
    const file = join(folder, 'rules.yaml')
    const line = (name: string, column: string) =>
      `  - { name: ${name}, schemaName: public, tableName: person, columnName: ${column}, maskingFunction: Default }\n`
    await writeFile(file, `rules:\n${line('card', 'card')}${line('note', 'noet')}`)
    const place = boundDb.split('/').filter((_, at) => [2, 4, 8, 10].includes(at))
    const token = service().tokenFor({ role: 'Owner' })
    await service().tokens.settled()
    const args = ['rules', 'apply', '-d', place.join('/'), '-f', file, '--yes']
    const { code, stderr } = await runHere([...args, '--url', service().origin, '--token', token], {
      environment: { XDG_CONFIG_HOME: folder },
    })
    assert.equal(code, 1)
    assert.match(
      stderr,
      /Nothing was changed\.\n.*rules\.yaml:3: note: columnName names no column .*'noet'; did you mean 'note'/,
    )
    assert.deepEqual((await getDocument(boundDb)).body, before)
  },
)

clause(
  'ENF-126',
  'Rules and exemptions that were stored together are enforced together: while a document is applied, a role that it exempts reads raw values without a single error, and a masked role never reads a raw value after the answer.',
  async () => {
    const target = bound()
    const app = await target.createRole('app')
    const clerk = await target.createRole('clerk')
    await target.database.sql.unsafe(`grant select on public.person to "${app}", "${clerk}"`)
    await send('PUT', `${policyUrl(boundDb)}?api-version=2014-04-01`, {
      properties: { dataMaskingState: 'Disabled' },
    })
    let isOver = false
    let reads = 0
    const load = async () => {
      const session = target.connectAs('app')
      while (!isOver) {
        const [row] = await session.sql<{ email: string; pay: string }[]>`
          select email, pay from public.person where id = 1`
        assert.deepEqual([row?.email, row?.pay], ['zelda1@secret-mail.com', '4322.50'])
        reads++
      }
    }
    const readers = [load(), load(), load()]
    const columns = ['email', 'contact', 'card', 'pay', 'note']
    const rules = columns.map((columnName) => ({
      ...mail,
      name: columnName,
      columnName,
      maskingFunction: 'Default',
    }))
    for (let round = 0; round < 4; round++) {
      const policy = { dataMaskingState: 'Enabled', exemptPrincipals: [app] }
      const { status, headers } = await putDocument(boundDb, { policy, rules: rules.slice(round) })
      assert.deepEqual([status, headers.get('x-masquerade-enforcement')], [200, 'Enforced'])
      const session = target.connectAs('clerk')
      await assert.rejects(async () => session.sql`select pay from public.person`, /permission denied/)
      const off = { dataMaskingState: 'Disabled', exemptPrincipals: [] }
      if (round < 3) await putDocument(boundDb, { policy: off, rules: [] })
    }
    isOver = true
    await Promise.all(readers)
    assert.ok(reads > 20, `${reads} reads`)
  },
)
