import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import type { Capability, ClauseId } from '../attacks/attack.ts'
import { checkQuote, clauses, parseClauses, parsePermissions, permissionTable } from '../support/clause.ts'
import { findGaps, listTestedIds, parseExceptions } from './coverage.ts'
import { readText, readTree } from './tree.ts'

interface AttackCase {
  readonly id: string
  readonly capability: Capability
  readonly clauses: readonly ClauseId[]
}

const made = `# Made up

- **ZOO-01** A lion roars when it is hungry, and sleeps
  for the rest of the day.

- **ZOO-02** Feeding is permitted by:

  | Animal | Delegated (work or school) | Delegated (personal account) | Application |
  |---|---|---|---|
  | lion, tiger | Meat.Read and Cage.Open, Meat.All | Not supported | same as delegated |
  | seal | Fish.Read \\| Fish.All | Fish.Read | Not supported |

Some prose with | a bar.

- **ZOO-03** A zebra has stripes.
`
const zoo = parseClauses(made, 'spec/zoo.md')
const lion = 'A lion roars when it is hungry, and sleeps for the rest of the day.'

test('every clause has a test or an exception, and none has both', () => {
  const known = clauses()
  const exceptions = parseExceptions(
    readText('spec/exceptions.md'),
    known.map((one) => one.id),
  )
  const tests = ['test/spec', 'test/attacks', 'test/unit', 'test/portal'].flatMap((folder) =>
    readTree(folder, /\.test\.ts$/),
  )
  assert.deepEqual(findGaps(known, listTestedIds(tests), exceptions), [])
  assert.ok(exceptions.every((one) => one.reason.length >= 20))
})

test('no clause is written in a form that is overlooked', () => {
  for (const { path, text } of readTree('spec', /\.md$/).filter(
    (file) => file.path !== 'spec/exceptions.md',
  )) {
    const read = clauses().filter((one) => one.file === path)
    assert.equal(read.length, text.match(/^\s*[-*#]+\s*\**[A-Z]+-\d+/gm)?.length, path)
    assert.equal(new Set(read.map((one) => one.id.replace(/\d+$/, ''))).size, 1, path)
  }
})

test('an attack of a capability holds clauses of its guarantees', async () => {
  const rows = readText('spec/enforcement.md').match(/^- G\d[\s\S]*?\n\n/gm) ?? []
  const guarantees = rows.map((row) => row.match(/ENF-\d+/g) ?? [])
  const listed = guarantees.flat()
  const known = new Set(clauses().map((one) => one.id))
  assert.equal(guarantees.length, 3)
  assert.deepEqual([new Set(listed).size, listed.filter((id) => !known.has(id))], [listed.length, []])
  const [values = [], time = [], harm = []] = guarantees
  const meant: Record<Capability, string[]> = { contained: [...values, ...time], 'any role, harm': harm }
  const read = async (file: string): Promise<Record<string, AttackCase[]>> => import(path.resolve(file))
  const files = await Promise.all(globSync('test/attacks/cases/*.ts').map(read))
  const cases = files.flatMap((one) => Object.values(one).flat())
  assert.ok(cases.length > 500)
  assert.deepEqual(
    cases.filter((one) => !one.clauses.some((id) => meant[one.capability].includes(id))),
    [],
  )
})

test('clauses refer to clauses that exist', () => {
  const known = new Set(clauses().map((one) => one.id))
  const named = clauses().flatMap((one) => one.text.match(/\b[A-Z]+-\d+\b/g) ?? [])
  assert.deepEqual(
    named.filter((id) => /^(MASK|DIR)-/.test(id) && !known.has(id)),
    [],
  )
})

test('a clause is read with its text, its place and its table', () => {
  assert.deepEqual(
    zoo.map((one) => one.id),
    ['ZOO-01', 'ZOO-02', 'ZOO-03'],
  )
  assert.deepEqual(zoo[0], { id: 'ZOO-01', text: lion, file: 'spec/zoo.md', line: 3 })
  assert.equal(zoo[1]?.table?.rows.length, 2)
  assert.equal(zoo[2]?.table, undefined)
})

test('a permission table is read as alternatives of permissions needed together', () => {
  const table = zoo[1]?.table
  assert.ok(table)
  const big = { delegated: [['Meat.Read', 'Cage.Open'], ['Meat.All']], personal: [] }
  assert.deepEqual(parsePermissions(table), [
    { subject: 'lion', ...big, application: big.delegated },
    { subject: 'tiger', ...big, application: big.delegated },
    { subject: 'seal', delegated: [['Fish.Read'], ['Fish.All']], personal: [['Fish.Read']], application: [] },
  ])
  assert.throws(() => parsePermissions({ header: table.header, rows: [['cat', 'Mouse', '', '']] }), /Mouse/)
  assert.throws(() => parsePermissions({ header: ['Path', 'Resource'], rows: [] }), /not a permission table/)
})

test('the permission tables of the directory are all read', () => {
  const rows = (text: string) => {
    const found = clauses().find((one) => one.file === 'spec/directory.md' && one.text.startsWith(text))
    assert.ok(found, text)
    return permissionTable(found.id).length
  }
  assert.equal(rows('Get member groups is permitted'), 6)
  assert.equal(rows('Delete open extension is permitted'), 11)
  assert.equal(rows('Add members, one or several, is permitted'), 5)
  assert.equal(rows('Update group is permitted'), 1)
})

test('a quotation must be in the specification', () => {
  assert.equal(checkQuote('ZOO-01', lion, zoo), undefined)
  assert.equal(checkQuote('ZOO-01', lion.replaceAll(', ', ',\n   '), zoo), undefined)
  assert.equal(checkQuote('ZOO-01', `${lion.slice(0, 45)}…`, zoo), undefined)
  assert.match(checkQuote('ZOO-01', 'A lion roars…', zoo) ?? '', /too briefly/)
  assert.match(checkQuote('ZOO-01', lion.replace('roars', 'purrs'), zoo) ?? '', /says something else/)
  assert.match(checkQuote('ZOO-01', `${lion.replace('roars', 'purrs').slice(0, 45)}…`, zoo) ?? '', /else/)
  assert.match(checkQuote('ZOO-01', lion.slice(0, 45), zoo) ?? '', /says something else/)
  assert.match(checkQuote('ZOO-09', lion, zoo) ?? '', /not a clause/)
})

test('a gap between clauses, tests and exceptions is found', () => {
  const ids = zoo.map((one) => one.id)
  const tested = (text: string) => listTestedIds([{ path: 'test/spec/zoo.test.ts', text }])
  const excepted = (text: string) => parseExceptions(text, ids)
  const both = tested(
    "clause('ZOO-01', '…', run)\n  // clause('ZOO-02', '…', run)\n clause(\n  'ZOO-03', run)",
  )
  assert.deepEqual([...both], ['ZOO-01', 'ZOO-03'])
  assert.deepEqual(findGaps(zoo, both, excepted('- **ZOO-02** later')), [])
  assert.match(findGaps(zoo, both, [])[0] ?? '', /ZOO-02 has no test/)
  assert.match(findGaps(zoo, both, excepted('- **ZOO-01 … ZOO-02** later'))[0] ?? '', /ZOO-01 has a test/)
  assert.match(findGaps(zoo, both, excepted('- **ZOO-02, ZOO-02** later'))[0] ?? '', /excepted twice/)
  assert.match(findGaps(zoo, tested("clause('ZOO-07', run)"), []).at(-1) ?? '', /ZOO-07 is tested and not/)
  assert.match(findGaps([...zoo, ...zoo], both, [])[0] ?? '', /two clauses/)
  assert.throws(() => excepted('- **ZOO-02 … ZOO-08** later'), /ZOO-08/)
  assert.throws(() => excepted('- **ZOO-03 … ZOO-01** later'), /not a range/)
})
