import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { foldDisplayName } from '../../../src/kernel/fold-display-name.ts'
import { useBoundDatabase } from '../../support/bound-database.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory } from '../../support/directory.ts'
import { emailRule, freshDatabase, policyUrl } from '../../support/masking.ts'
import { runHere } from '../../support/run-here.ts'

const { masking, db, bound } = useBoundDatabase()
const { send, service, getPolicy } = masking
const documentUrl = (of: string) => `${policyUrl(of)}/document?api-version=2026-11-01`
const mail = { name: 'mail', ...emailRule }
const exempt = (entries: string[], of = db) =>
  send('PUT', documentUrl(of), {
    properties: {
      policy: { dataMaskingState: 'Enabled', exemptPrincipals: entries },
      rules: [mail],
    },
  })
type Exemption = { entry: string; kind: string; name: string }
const kindsOf = ({ exemptions }: { exemptions: Exemption[] }) =>
  exemptions.map(({ kind, name }) => [kind, name])

async function runPolicy(...args: string[]) {
  const token = service().tokenFor({ role: 'Owner' })
  await service().tokens.settled()
  const place = db.split('/').filter((_, at) => [2, 4, 8, 10].includes(at))
  return runHere(['policy', ...args, '-d', place.join('/'), '--url', service().origin, '--token', token], {
    environment: { XDG_CONFIG_HOME: '/nonexistent' },
  })
}

clause(
  'MASK-139',
  'A document and its impact say of each exempt principal whom it is: a role of the database, a user, group or application of the directory by its name, every role, nothing, or unknown while the database does not answer. An entry that matches nothing is accepted; the state of enforcement has a note `ExemptsNothing` about it.',
  async () => {
    const directory = fillDirectory(service())
    const user = `ann-${bound().role('x')}`
    await directory.user(user)
    const app = await directory.servicePrincipal()
    const analyst = bound().role('analyst')
    const { body } = await exempt([analyst, `${user}@example.com`, app, 'public', 'nobody'])
    assert.deepEqual(kindsOf(body), [
      ['DatabaseRole', analyst],
      ['User', `${user}@example.com`],
      ['ServicePrincipal', 'An app'],
      ['Everybody', 'public'],
      ['Nothing', 'nobody'],
    ])
    assert.deepEqual((await send('GET', documentUrl(db))).body.exemptions, body.exemptions)
    const impact = await send('POST', `${policyUrl(db)}/impact?api-version=2026-11-01`, {
      properties: { policy: { dataMaskingState: 'Enabled', exemptPrincipals: ['anybody'] } },
    })
    assert.deepEqual(kindsOf(impact.body), [['Nothing', 'anybody']])
    await exempt([analyst, 'nobody'])
    const { notes } = (await send('GET', `${policyUrl(db)}/enforcement`)).body
    assert.deepEqual(
      notes
        .filter(({ code }: { code: string }) => code === 'ExemptsNothing')
        .map(({ target }: { target: string }) => target),
      ['nobody'],
    )
    const unbound = (await exempt(['somebody'], freshDatabase())).body
    assert.deepEqual(kindsOf(unbound), [['Unknown', 'somebody']])
  },
)

clause(
  'MASK-163',
  '`exemptions` of a document and of an impact show `id` and name of a principal to callers who may read it…',
  async () => {
    const directory = fillDirectory(service())
    const [stored, proposed] = [await directory.group(), await directory.group()]
    const name = `hidden-${randomUUID()}`
    await directory.user(name)
    await exempt([stored])
    const ask = async (token: string, method: string, url: string, body?: unknown) =>
      (
        await service().request(method, url, { token, ...(body !== undefined && { body }) })
      ).body.exemptions.map((one: Exemption & { id: string | null }) => [one.kind, one.id, one.name])
    const policy = {
      dataMaskingState: 'Enabled',
      exemptPrincipals: [stored, proposed, `${name}@example.com`, `no-${name}@example.com`],
    }
    const impact = (token: string) =>
      ask(token, 'POST', `${policyUrl(db)}/impact?api-version=2026-11-01`, { properties: { policy } })
    const writer = service().tokenFor({ role: 'SQL Security Manager', scope: db })
    assert.deepEqual(await impact(writer), [
      ['Group', stored, 'A group'],
      ['Group', null, proposed],
      ['User', null, `${name}@example.com`],
      ['Nothing', null, `no-${name}@example.com`],
    ])
    const permissions = ['user_impersonation', 'Group.Read.All']
    const both = service().tokenFor({ role: 'SQL Security Manager', scope: db, permissions })
    assert.deepEqual((await impact(both))[1], ['Group', proposed, 'A group'])
    const reader = service().tokenFor({ role: 'Reader', scope: db })
    const url = `${policyUrl(db)}/impact?api-version=2026-11-01`
    const refused = await service().request('POST', url, { token: reader, body: { properties: { policy } } })
    assert.equal(refused.status, 403, 'a Reader cannot probe for names')
    assert.deepEqual(await ask(reader, 'GET', documentUrl(db)), [['Group', null, stored]])
    assert.deepEqual(await ask(writer, 'GET', documentUrl(db)), [['Group', stored, 'A group']])
  },
)

clause(
  'MASK-140',
  'In a document a group can be exempted by its displayName, as `group:NAME`: it is stored by its id. A name that no group or several groups have is 400, with their ids. A bare name is never taken for that of a group: a person who may create groups could give one the name of an entry that exempts nothing.',
  async () => {
    const directory = fillDirectory(service())
    const name = `Café ${bound().role('team')}`
    const id = await directory.group({ displayName: name })
    const analyst = bound().role('analyst')
    const namesake = await directory.group({ displayName: analyst })
    const { body } = await exempt([`Group:${name.toUpperCase()}`, analyst])
    assert.deepEqual(body.properties.policy.exemptPrincipals, [id, analyst])
    assert.deepEqual(kindsOf(body), [
      ['Group', name],
      ['DatabaseRole', analyst],
    ])
    assert.equal((await getPolicy(db)).body.properties.exemptPrincipals, `${id};${analyst}`)
    const both = (await exempt([`group:${analyst}`])).body
    assert.deepEqual(both.properties.policy.exemptPrincipals, [namesake])
    const other = await directory.group({ displayName: name.normalize('NFD') })
    const several = await exempt([`group:${name}`])
    assert.equal(several.body.error.code, 'InvalidMaskingDocument')
    for (const one of [id, other]) assert.ok(several.body.error.message.includes(one))
    assert.equal((await exempt(['group:no such group'])).status, 400)
    // The id of a deleted group, an address, a role that was dropped: each could be the name of a new group.
    for (const entry of [randomUUID(), 'left@example.com', 'left@example.com/shop', 'dropped role']) {
      await exempt([entry])
      await directory.group({ displayName: entry })
      const again = (await exempt([entry])).body
      assert.deepEqual(kindsOf(again), [['Nothing', entry]])
    }
  },
)

clause(
  'MASK-235',
  'Display names that differ in case or composition alone are one name, in every locale of the store…',
  async () => {
    const directory = fillDirectory(service())
    const unbound = freshDatabase()
    const mixed = 'Cafe\u0301 Müller'
    const cases = [
      ['İnsan Kaynakları', ['i\u0307nsan kaynakları', 'insan kaynaklari', 'INSAN KAYNAKLARI']],
      ['ΠΩΛΗΣΕΙΣ', ['πωλησεις', 'πωλησεισ']],
      ['Öffentlichkeit', ['öffentlichkeit', 'O\u0308FFENTLICHKEIT']],
      [mixed, [mixed.normalize('NFC'), mixed.normalize('NFD').toUpperCase()]],
      ['Kelvin', ['\u212aelvin', 'KELVIN']],
    ] as const
    for (const [name, spellings] of cases) {
      const end = ` ${randomUUID()}`
      const id = await directory.group({ displayName: name + end })
      for (const spelling of [name, ...spellings]) {
        const { body } = await exempt([`group:${spelling}${end}`], unbound)
        assert.deepEqual(body.properties?.policy.exemptPrincipals, [id], `${spelling} for ${name}`)
      }
      for (const spelling of spellings) {
        const other = await directory.group({ displayName: spelling + end })
        for (const wanted of [name, name.normalize('NFC'), ...spellings]) {
          const several = await exempt([`group:${wanted}${end}`], unbound)
          assert.equal(several.status, 400, `${wanted} with ${name} and ${spelling}`)
          for (const one of [id, other]) assert.ok(several.body.error.message.includes(one))
        }
        await directory.softDelete(other)
      }
      await directory.softDelete(id)
      assert.equal((await exempt([`group:${name}${end}`], unbound)).status, 400)
    }
  },
)

test('the folding of names joins all that the store lowers to the same text', async () => {
  const collations = await service().database.sql<{ name: string }[]>`
    select quote_ident(collname) as name from pg_collation
    where collname in ('C', 'pg_c_utf8', 'und-x-icu', 'tr-x-icu') and collnamespace = 'pg_catalog'::regnamespace`
  for (const { name } of [{ name: '"default"' }, ...collations]) {
    const lowered = await service().database.sql<{ one: string; lower: string }[]>`
      select chr(code) as one, lower(chr(code) collate ${service().database.sql.unsafe(name)}) as lower
      from generate_series(1, x'1ffff'::int) code where code not between x'd800'::int and x'dfff'::int
        and chr(code) <> lower(chr(code) collate ${service().database.sql.unsafe(name)})`
    const apart = lowered.filter(({ one, lower }) => foldDisplayName(one) !== foldDisplayName(lower))
    assert.deepEqual(apart, [], name)
  }
})

clause(
  'MASK-242',
  'Behind `group:` a UUID is 400: an id is given by itself. Blanks and invisible characters at the ends of the name do…',
  async () => {
    const directory = fillDirectory(service())
    const [gone, name] = [randomUUID(), `Auditors ${randomUUID()}`]
    const blanks = [' ', '\u00a0', '\u200b', '\u2060', '\u3164']
    const dressed = blanks.flatMap((blank) => [`${blank}${name}`, `${name}${blank}`])
    const entries = [gone, gone.toUpperCase(), ` ${gone}`, name, ...dressed].map((one) => `group:${one}`)
    for (const displayName of [gone, ...dressed]) await directory.group({ displayName })
    for (const entry of entries) {
      const { status, body } = await exempt([entry])
      assert.equal(status, 400, entry)
      assert.match(body.error.message, entry.includes('uditors') ? /names no group/ : /Give the id by itself/)
    }
    const id = await directory.group({ displayName: name })
    for (const one of [name, ...dressed]) {
      const { body } = await exempt([`group:${one}`])
      assert.deepEqual(body.properties.policy.exemptPrincipals, [id])
    }
  },
)

clause(
  'MASK-243',
  'A PUT of the policy takes `group:NAME` as a document does: it stores the id, and a name that no group or several…',
  async () => {
    const unbound = freshDatabase()
    const name = `Auditors ${randomUUID()}`
    const entry = `group:${name}`
    const set = (exemptPrincipals: string) =>
      masking.putPolicy(unbound, { dataMaskingState: 'Enabled', exemptPrincipals })
    const create = async () => {
      const token = service().tokenFor({ permissions: ['Group.ReadWrite.All'] })
      const body = { displayName: name, mailEnabled: false, mailNickname: 'x', securityEnabled: true }
      const group = await service().request('POST', '/v1.0/groups', { token, body })
      assert.equal(group.status, 201)
      return group.body.id as string
    }
    await set('dba')
    for (const wrong of [entry, `group:${randomUUID()}`]) {
      const { status, body } = await set(`auditor;${wrong}`)
      assert.deepEqual(
        [status, body.error?.code, body.error?.target],
        [400, 'InvalidRequestContent', 'properties.exemptPrincipals'],
      )
    }
    assert.equal((await getPolicy(unbound)).body.properties.exemptPrincipals, 'dba')

    const id = await create()
    const given = await set(`auditor; Group:${name.toUpperCase()} ;${id}`)
    assert.equal(given.body.properties.exemptPrincipals, `auditor;${id}`)
    const other = await create()
    const several = await set(entry)
    assert.equal(several.status, 400)
    for (const one of [id, other]) assert.ok(several.body.error.message.includes(one))
  },
)

test('MASK-243: an entry `group:NAME` that was stored as text stays one until it is removed', async () => {
  const name = `Auditors ${randomUUID()}`
  const entry = `group:${name}`
  const marker = `text-${randomUUID()}`
  await exempt([marker])
  // As an earlier release stored it.
  await service().database.sql`
    update masked_database set exempt_principals = ${entry}
    where exempt_principals = ${marker}`
  const sendBack = async () => {
    const policy = (await getPolicy(db)).body
    assert.deepEqual((await send('PUT', policyUrl(db), policy)).body, policy)
    const { properties } = (await send('GET', documentUrl(db))).body
    assert.deepEqual(properties.policy.exemptPrincipals, [entry])
    const impact = await send('POST', `${policyUrl(db)}/impact?api-version=2026-11-01`, { properties })
    assert.deepEqual(kindsOf(impact.body), [['Nothing', entry]])
    const { status, body } = await send('PUT', documentUrl(db), { properties })
    assert.equal(status, 200)
    assert.deepEqual(kindsOf(body), [['Nothing', entry]])
  }
  await sendBack()
  const id = await fillDirectory(service()).group({ displayName: name })
  await sendBack()
  const both = (await exempt([entry, id])).body
  assert.deepEqual(both.properties.policy.exemptPrincipals, [entry, id])
  const unexempt = (one: string) => runPolicy('unexempt', one, '--yes')
  assert.equal((await unexempt(entry)).code, 0)
  assert.deepEqual(kindsOf((await send('GET', documentUrl(db))).body), [['Group', name]])
  assert.equal((await unexempt(entry)).code, 0)
  assert.deepEqual(kindsOf((await exempt([entry])).body), [['Group', name]])
})

test('DIR-350: unexempt takes a UUID for an id alone', async () => {
  const gone = randomUUID()
  const planted = await fillDirectory(service()).group({ displayName: gone })
  await exempt([planted])
  const unexempt = (name: string) => runPolicy('unexempt', name, '--yes')
  for (const name of [gone, `group:${gone}`]) assert.equal((await unexempt(name)).code, 5)
  assert.equal((await unexempt(planted)).code, 0)
})

clause(
  'MASK-141',
  '`masquerade policy show`, `enable`, `disable`, `exempt` and `unexempt` show and change the policy of a database. A change by which roles would lose raw values shows its impact and asks on a terminal; elsewhere `--yes` is needed. Entries that match nothing are said.',
  async () => {
    await exempt([])
    const shown = await runPolicy('show')
    assert.equal(shown.stdout, 'Enabled, 1 rule. In the database: Enforced\nNo one is exempt.\n')
    const analyst = bound().role('analyst')
    const given = await runPolicy('exempt', analyst)
    assert.equal(given.code, 0, given.stderr)
    assert.match(given.stdout, new RegExp(`Exempt:\\n  ${analyst}  database role\\n`))
    assert.match(
      (await runPolicy('exempt', 'nowhere')).stdout,
      /nowhere.*WARNING: no role, user, group or application/,
    )
    assert.equal((await runPolicy('unexempt', 'nowhere')).code, 0)
    const asked = await runPolicy('unexempt', analyst)
    assert.equal(asked.code, 2, asked.stdout)
    assert.match(asked.stdout, new RegExp(`Roles that would lose raw values:\\n.*\\n  ${analyst}`))
    assert.equal((await runPolicy('unexempt', analyst, '--yes')).code, 0)
    assert.equal((await runPolicy('unexempt', analyst)).code, 5)
    assert.equal((await runPolicy('disable')).code, 0)
    assert.match((await runPolicy('enable')).stdout, /would lose raw values/)
    assert.equal((await runPolicy('enable', '--yes')).code, 0)
    const json = JSON.parse((await runPolicy('show', '--json')).stdout)
    assert.deepEqual([json.dataMaskingState, json.rules, json.enforcement.state], ['Enabled', 1, 'Enforced'])
  },
)

clause(
  'MASK-291',
  'A document without `rules` changes the policy alone, as `masquerade policy` does: rules of columns that were renamed or dropped since are no reason to refuse it.',
  async () => {
    await exempt([])
    const { sql } = bound().database
    await sql`alter table public.person rename email to address`
    try {
      const analyst = bound().role('analyst')
      const changes = [['exempt', analyst], ['unexempt', analyst], ['disable'], ['observe'], ['enable']]
      for (const change of changes) {
        const { code, stderr } = await runPolicy(...change, '--yes')
        assert.equal(code, 0, `${change[0]}: ${stderr}`)
      }
      const { body } = await send('GET', documentUrl(db))
      assert.deepEqual(
        body.properties.rules.map(({ columnName }: { columnName: string }) => columnName),
        ['email'],
      )
      assert.equal((await exempt([])).status, 400)
    } finally {
      await sql`alter table public.person rename address to email`
    }
  },
)
