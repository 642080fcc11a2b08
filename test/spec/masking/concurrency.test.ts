import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clause } from '../../support/clause.ts'
import { emailRule, freshDatabase, policyUrl, ruleUrl, useMasking } from '../../support/masking.ts'

const { send, putRule, putPolicy, listRules, getRule, getPolicy } = useMasking()

const many = Array.from({ length: 20 }, (_, at) => at)
const count = (answers: { status: number }[], status: number) =>
  answers.filter((answer) => answer.status === status).length
const tagOf = (answer: { headers: Headers }) => answer.headers.get('etag') ?? ''

clause(
  'MASK-118',
  'Writes to one database are serialised, whatever their number and callers: the last one…',
  async () => {
    const db = freshDatabase()
    const answers = await Promise.all(
      many.map((at) => putRule(db, at % 2 ? 'Rule' : 'rULE', { ...emailRule, aliasName: `writer ${at}` })),
    )
    assert.equal(count(answers, 201), 1)
    assert.equal(count(answers, 200), many.length - 1)
    assert.deepEqual(
      new Set(answers.map(({ body }) => body.properties.aliasName)),
      new Set(many.map((at) => `writer ${at}`)),
      'each answer is about what that request wrote',
    )
    const last = answers.toSorted((a, b) => Number(tagOf(b).slice(1, -1)) - Number(tagOf(a).slice(1, -1)))[0]
    assert.deepEqual(await listRules(db), [last?.body])
  },
)

test('of many rules for one column one wins, and the others hear its name', async () => {
  const db = freshDatabase()
  const answers = await Promise.all(many.map((at) => putRule(db, `rule ${at}`, emailRule)))
  assert.equal(count(answers, 201), 1)
  assert.equal(count(answers, 409), many.length - 1)
  const [rule] = await listRules(db)
  const name = rule.id.split('/').at(-1)
  for (const { status, body } of answers)
    if (status === 409) assert.ok(body.error.message.includes(`'${name}'`), body.error.message)
})

test('PUT against deletion: the answers tell what happened, in one order or the other', async () => {
  const db = freshDatabase()
  const deletions = [
    () => send('DELETE', ruleUrl(db, 'r')),
    () => putRule(db, 'r', { ...emailRule, ruleState: 'Disabled' }),
  ]
  for (const round of many) {
    await putRule(db, 'r', emailRule)
    const remove = deletions[round % 2] ?? assert.fail()
    const [put, removed] = await Promise.all([
      putRule(db, 'r', { ...emailRule, aliasName: `${round}` }),
      remove(),
    ])
    assert.equal(removed.status, 200)
    const exists = (await getRule(db, 'r')).status === 200
    assert.equal(put.status, exists ? 201 : 200)
    if (exists) assert.deepEqual((await getRule(db, 'r')).body, put.body)
  }
})

test('writes to different databases that are new do not get in each other’s way', async () => {
  const databases = many.map(() => freshDatabase())
  const answers = await Promise.all(databases.map((db) => putRule(db, 'r', emailRule)))
  assert.equal(count(answers, 201), many.length)
})

clause(
  'MASK-117',
  'Rules, policies, servers and databases have an entity tag in `ETag`. A write whose `If-Match` does not name the current one is 412 `PreconditionFailed` and changes nothing; `If-None-Match: *` creates and never replaces. A resource that is deleted and made again has a new tag.',
  async () => {
    const db = freshDatabase()
    const stale = tagOf(await putRule(db, 'r', emailRule))
    const current = tagOf(await putRule(db, 'r', { ...emailRule, aliasName: 'newer' }))
    assert.notEqual(stale, current)
    assert.equal(tagOf(await getRule(db, 'r')), current)
    for (const header of [stale, '"0"', `W/${current}`, 'nonsense']) {
      const { status, body } = await putRule(db, 'r', emailRule, { 'if-match': header })
      assert.equal(status, 412, header)
      assert.equal(body.error.code, 'PreconditionFailed')
      assert.equal((await send('DELETE', ruleUrl(db, 'r'), undefined, { 'if-match': header })).status, 412)
    }
    assert.equal((await getRule(db, 'r')).body.properties.aliasName, 'newer')
    assert.equal((await putRule(db, 'r', emailRule, { 'if-match': `"0", ${current}` })).status, 200)
    assert.equal((await putRule(db, 'r', emailRule, { 'if-match': '*' })).status, 200)
    assert.equal((await putRule(db, 'absent', emailRule, { 'if-match': '*' })).status, 412)
    assert.equal((await getRule(db, 'absent')).status, 404)

    const tag = tagOf(await getRule(db, 'r'))
    const answers = await Promise.all(
      many.map((at) => putRule(db, 'r', { ...emailRule, aliasName: `${at}` }, { 'if-match': tag })),
    )
    assert.equal(count(answers, 200), 1)
    assert.equal(count(answers, 412), many.length - 1)
  },
)

test('If-None-Match: * creates and never replaces', async () => {
  const db = freshDatabase()
  const answers = await Promise.all(
    many.map((at) => putRule(db, 'r', { ...emailRule, aliasName: `${at}` }, { 'if-none-match': '*' })),
  )
  assert.equal(count(answers, 201), 1)
  assert.equal(count(answers, 412), many.length - 1)
  const winner = answers.find(({ status }) => status === 201)
  assert.deepEqual(await listRules(db), [winner?.body])
})

test('a rule that is made again never has an entity tag of its former life', async () => {
  const db = freshDatabase()
  const tags = []
  for (let life = 0; life < 3; life++) {
    tags.push(tagOf(await putRule(db, 'r', emailRule)))
    await send('DELETE', ruleUrl(db, 'r'))
  }
  assert.equal(new Set(tags).size, 3)
})

test('policies, servers and databases have entity tags too', async () => {
  const db = freshDatabase()
  const first = tagOf(await getPolicy(db))
  assert.equal((await putPolicy(db, { dataMaskingState: 'Enabled' }, { 'if-match': first })).status, 200)
  assert.equal((await putPolicy(db, { dataMaskingState: 'Disabled' }, { 'if-match': first })).status, 412)
  assert.equal((await send('GET', policyUrl(db))).body.properties.dataMaskingState, 'Enabled')
  for (const url of [db, db.replace(/\/databases.*/, '-tagged')]) {
    const tag = tagOf(await send('PUT', url, {}, { 'if-none-match': '*' }))
    assert.match(tag, /^"\d+"$/)
    assert.equal((await send('PUT', url, {}, { 'if-none-match': '*' })).status, 412)
    const newer = tagOf(await send('PUT', url, {}, { 'if-match': tag }))
    assert.equal((await send('DELETE', url, undefined, { 'if-match': tag })).status, 412)
    assert.equal((await send('DELETE', url, undefined, { 'if-match': newer })).status, 200)
  }
})
