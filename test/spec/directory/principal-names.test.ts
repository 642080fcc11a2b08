import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { directoryRoleTemplates } from '../../../src/auth/directory-roles.ts'
import { knownPermissions } from '../../../src/auth/known-permissions.ts'
import { findActiveUser } from '../../../src/directory/accounts/find-active-user.ts'
import { createSqlGraph } from '../../../src/directory/membership/sql-graph.ts'
import { isExemptPrincipal } from '../../../src/directory/principals/exempt-principals.ts'
import { foldPrincipalName } from '../../../src/kernel/fold-principal-name.ts'
import { readTree } from '../../house/tree.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory } from '../../support/directory.ts'
import { freshDatabase, useMasking } from '../../support/masking.ts'

const { service, putPolicy, bindReached } = useMasking()

/** Letters that one folding or another takes for `i`, `k` or `s`, and characters that other places give a meaning. */
const strange = [
  'İ',
  'ı',
  'i\u0307',
  '\u212a',
  'ſ',
  'ｉ',
  'і',
  '\u200b',
  'é',
  ';',
  '/',
  '+',
  '%',
  '=',
  ' ',
  '"',
]

clause(
  'DIR-168',
  "The part of a userPrincipalName before the `@` has up to 64 ASCII letters, digits and `' . - _ ! # ^ ~`. Names…",
  async () => {
    const directory = fillDirectory(service())
    const name = `vip-${randomUUID()}`
    const db = freshDatabase()
    await putPolicy(db, { dataMaskingState: 'Enabled', exemptPrincipals: `${name}@example.com` })
    await bindReached(db)
    const user = await directory.user()
    const token = service().tokenFor({
      principal: await directory.user(),
      permissions: Object.keys(knownPermissions),
      directoryRoles: [directoryRoleTemplates['Directory Writers']],
    })
    const rename = (userPrincipalName: string) =>
      service().request('PATCH', `/v1.0/users/${user}`, { token, body: { userPrincipalName } })
    for (const letter of strange) {
      const renamed = await rename(`${name.replace('i', letter)}@example.com`)
      assert.equal(renamed.status, 400, letter)
    }
    for (const spelling of [name, name.toUpperCase()])
      assert.equal((await rename(`${spelling}@EXAMPLE.com`)).status, 403, 'the name gives an exemption')
    const plain = `o'b.r-i_e!n#^~${randomUUID().slice(0, 8)}@example.com`
    assert.equal((await rename(plain)).status, 204)
    const found = await service().request('GET', `/v1.0/users/${encodeURIComponent(plain.toUpperCase())}`, {
      token: service().tokenFor({ permissions: ['User.Read.All'] }),
    })
    assert.equal(found.body.id, user, 'case does not tell names apart')
  },
)

test('a name that was written past the rules is no spelling of another name', async () => {
  const { database, tenantId } = service()
  const directory = fillDirectory(service())
  const name = `vip-kiss-${randomUUID()}`
  const names = ['İ', 'ı', '\u212a', 'ſ'].map((letter) => name.replace(/[iks]/, letter))
  const ids = await Promise.all([name, ...names].map((one) => directory.user(one)))
  const [own, ...others] = ids
  const graph = createSqlGraph(database.sql)
  const isExempt = (id: string, entry: string) =>
    isExemptPrincipal(database.sql, graph, tenantId, id, [`${entry}@EXAMPLE.com`])
  assert.equal(await isExempt(own ?? '', name.toUpperCase()), true)
  for (const [at, id] of others.entries()) {
    assert.equal(await isExempt(id, name), false, names[at])
    assert.equal(await isExempt(own ?? '', names[at] ?? ''), false, names[at])
    const signIn = await findActiveUser(database.sql, tenantId, {
      userPrincipalName: `${names[at]}@example.com`,
    })
    assert.equal(signIn?.id, id, names[at])
  }
  const signIn = await findActiveUser(database.sql, tenantId, {
    userPrincipalName: `${name.toUpperCase()}@example.com`,
  })
  assert.equal(signIn?.id, own)
  await assert.rejects(directory.user(name.toUpperCase()), 'uniqueness folds in the same way')
})

test('PostgreSQL and JavaScript fold all characters of names in the same way', async () => {
  const text = String.fromCodePoint(...Array.from({ length: 0x2fff }, (_, at) => at + 1))
  const [row] = await service().database.sql<{ folded: string }[]>`
    select lower(${text}::text collate "C") as folded`
  assert.equal(row?.folded, foldPrincipalName(text))
})

test('no statement folds principal names by itself', () => {
  const own = /lower\((\w+\.)?user_principal_name|lower\(properties ->> 'userPrincipalName'\)/
  const wrong = readTree('src', /\.ts$/).filter(({ text }) => own.test(text))
  assert.deepEqual(
    wrong.map(({ path }) => path),
    [],
  )
})

clause(
  'DIR-169',
  'An application or service principal takes no `displayName` that begins with "Masquerade" or contains the name…',
  async () => {
    const token = service().tokenFor({ permissions: Object.keys(knownPermissions) })
    const ask = (method: string, path: string, body?: unknown) =>
      service().request(method, `/v1.0${path}`, { token, ...(body !== undefined && { body }) })
    const created = await ask('POST', '/applications', { displayName: 'Exporter for Masquerade' })
    assert.equal(created.status, 201, created.text)
    const { id, appId } = created.body
    const principal = await ask('POST', '/servicePrincipals', { appId })
    assert.equal(principal.status, 201, principal.text)
    const names = [
      'Masquerade command line',
      'Masquerade administration',
      'MASQUERADE  Command-Line (official)',
      'Masquerade support',
      'The Masquerade portal',
      'Mas\u200bque\u00adrade command line',
      'M\u0430squer\u0430de command line',
      'Μasquerade command line',
      'М4squer4de command line',
      'rnasquerade portal',
      'Ｍasquerade portal',
      'Màsquéradë admın',
      'M\u2024a s.q.u.e.r.a.d.e',
      '\u202eMasquerade',
      ...['\u115f', '\u3164', '\uffa0', '\u034f', '\u{e0041}'].map(
        (hidden) => `Masq${hidden}uerade administration`,
      ),
      '\u202eedareuqsaM',
      'Exporter \u2067of Eve\u2069',
      'Masqu\u212erade administration',
      'Masqu€rade',
      'M★squerade',
      'Mas•q∪erade',
      'ꓟꓮꓢqꓴꓰꓣꓮꓓꓰ',
      'ᎷᎪᏚQUᎬᎡᎪᎠᎬ',
      'ꮇꭺꮪqueꮢade',
      'Ⲙⲁsquⲉrade',
      'Masԛuerⴰde',
      '🅼🅰🆂🆀🆄🅴🆁🅰🅳🅴',
      'Portal of ꓟasquerade ꓐrowser · Masquerade comm⍺nd line',
    ]
    for (const displayName of names) {
      assert.equal((await ask('POST', '/applications', { displayName })).status, 400, displayName)
      assert.equal((await ask('PATCH', `/applications/${id}`, { displayName })).status, 400, displayName)
      const renamed = await ask('PATCH', `/servicePrincipals/${principal.body.id}`, { displayName })
      assert.equal(renamed.status, 400, displayName)
    }
    for (const displayName of [
      'Mask quest',
      'Marquee',
      'Command line of Eve',
      'Маскарад',
      'マスカレード工房',
      'מסכות',
      '★ Masks ★ quests',
      'Zahlen & Fakten',
    ])
      assert.equal((await ask('PATCH', `/applications/${id}`, { displayName })).status, 204, displayName)

    await service().database.sql`
      update directory_object set properties = properties || '{"displayName": "Masquerade portal"}', deleted_at = now()
      where id = ${id}`
    assert.equal((await ask('POST', `/directory/deletedItems/${id}/restore`)).status, 400)
  },
)
