import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { basename } from 'node:path'
import { test } from 'node:test'
import { listAnchors, listLinks, listNamedPaths } from './documents.ts'
import { atTop, pathExists, readText, readTree } from './tree.ts'

const guides = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md']

test('every path that the documents name is there', () => {
  const documents = readTree('.', /\.md$/).filter(
    ({ path }) => guides.includes(path) || path.startsWith('docs/'),
  )
  assert.ok(documents.length > 0)
  const missing = documents.flatMap(({ path, text }) =>
    listNamedPaths(text)
      .filter((named) => globSync(named, { cwd: atTop('.') }).length === 0)
      .map((named) => `${path} names ${named}`),
  )
  assert.deepEqual(missing, [])
})

test('every relative link leads somewhere', () => {
  const broken = readTree('.', /\.md$/).flatMap((document) =>
    listLinks(document)
      .filter(({ path, anchor }) => {
        if (!pathExists(path)) return true
        return anchor !== '' && path.endsWith('.md') && !listAnchors(readText(path)).includes(anchor)
      })
      .map(({ path, anchor }) => `${document.path} links to ${path}${anchor && '#'}${anchor}`),
  )
  assert.deepEqual(broken, [])
})

test('every decision has a number of its own, which its title repeats, and a line in the index', () => {
  const decisions = readTree('docs/decisions', /\d-[^/]+\.md$/)
  const numbers = decisions.map(({ path }) => /\/(\d{4})-[^/]+$/.exec(path)?.[1])
  assert.ok(numbers.length > 0)
  assert.deepEqual(
    decisions.map(({ text }) => /^# (\d{4}): /.exec(text)?.[1]),
    numbers,
  )
  assert.equal(new Set(numbers).size, numbers.length)
  const index = decisions.map(({ path, text }) => {
    const [, number, title] = /^# (\d{4}): (.*)/.exec(text) ?? []
    const [, newer] = /^_No longer holds since (.*)\._$/m.exec(text) ?? []
    return `- [${number}](${basename(path)}): ${title}${newer ? `. _Replaced by ${newer}._` : ''}`
  })
  const listed = readText('docs/decisions/README.md')
    .split('\n')
    .filter((line) => line.startsWith('- '))
  assert.deepEqual(listed, index)
})

test('`npx masquerade` stands only beside the warning that the name on the public registry is not ours', () => {
  const writing = readTree('.', /\.(md|ts|mjs)$/).filter(
    ({ path, text }) => /npx masquerade /.test(text) && !/^(test|CHANGELOG|docs\/decisions)/.test(path),
  )
  const silent = writing.filter(
    ({ text }) => !/not ours|the folder of the clone|ask.* (the|no) registry/.test(text),
  )
  assert.deepEqual(
    silent.map(({ path }) => path),
    [],
  )
})

test('paths are told from other words in backticks', () => {
  const text = `
See \`src/main.ts\`, \`test/house/\`, \`./docs/errors.md#top\` and \`node --test test/unit/*.test.ts\`;
\`README.md\` and \`src/kernel/problem.ts:12\`. Not \`/v1.0/users\`, \`GET /groups\`, \`users/x\`, \`problem.ts\`,
\`docs/decisions/NNNN-title.md\`, \`src/{a,b}\`.
\`\`\`
\`src/in-a-fence.ts\`
\`\`\`
`
  assert.deepEqual(listNamedPaths(text), [
    'src/main.ts',
    'test/house/',
    'docs/errors.md',
    'test/unit/*.test.ts',
    'README.md',
    'src/kernel/problem.ts',
  ])
})

test('links and anchors are read as a reader of the page would', () => {
  const text = '[a](../b.md#one) [c](#two) [d](https://example.org/x) [e](mailto:a@b.c) [f](sub/g.md "title")'
  assert.deepEqual(listLinks({ path: 'docs/h.md', text }), [
    { path: 'b.md', anchor: 'one' },
    { path: 'docs/h.md', anchor: 'two' },
    { path: 'docs/sub/g.md', anchor: '' },
  ])
  assert.deepEqual(listAnchors('# One\n\n## Errors, limits and `v1.0`\n'), ['one', 'errors-limits-and-v10'])
})
