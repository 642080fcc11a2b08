import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readExpansion, readExtensionsFilter } from '../../../src/directory/extensions/expand-extensions.ts'
import {
  isExtensionType,
  nameOf,
  qualify,
  readNewName,
} from '../../../src/directory/extensions/extension-name.ts'
import { parseExpand } from '../../../src/directory/odata/expand.ts'

describe('names of extensions', () => {
  const names: Record<string, string> = {
    'com.example.x': 'com.example.x',
    'vendor.graph.openTypeExtension.com.example.x': 'com.example.x',
    'VENDOR.Graph.OpenTypeExtension.X': 'X',
    'microsoft.graph.openTypeExtension.x': 'x',
    'Microsoft.OutlookServices.OpenTypeExtension.x': 'x',
    'vendor.graph.openTypeExtension': 'vendor.graph.openTypeExtension',
    'vendor.graph.openTypeExtension.': '',
    'vendor.graph.openTypeExtension.vendor.graph.openTypeExtension.x': 'vendor.graph.openTypeExtension.x',
  }
  for (const [extensionId, name] of Object.entries(names))
    test(`${extensionId} addresses '${name}'`, () => assert.equal(nameOf(extensionId), name))

  test('a fully qualified name leads back to the name', () => {
    for (const name of ['a', 'com.example.A-b_c', '9.x'])
      assert.equal(nameOf(qualify(readNewName(name))), name)
  })

  test('the type is known by each of its names', () => {
    for (const type of ['vendor.graph.openTypeExtension', '#microsoft.graph.openTypeExtension'])
      assert.ok(isExtensionType(type))
    for (const type of ['openTypeExtension', 'vendor.graph.openTypeExtension.x', ''])
      assert.ok(!isExtensionType(type))
  })
})

describe('$expand and $filter by extension', () => {
  const expansions: Record<string, string | undefined> = {
    extensions: undefined,
    'Extensions ': undefined,
    "extensions($filter=id eq 'com.x')": 'com.x',
    "extensions(filter=id eq 'vendor.graph.openTypeExtension.com.x')": 'com.x',
    "extensions($filter=ID EQ 'o''neil')": "o'neil",
  }
  for (const [text, name] of Object.entries(expansions))
    test(text, () => assert.deepEqual(parseExpand(text).map(readExpansion), [{ name }]))

  const refused = [
    '',
    'extensions,',
    'extensions,extensions',
    'extensions()',
    'extensions($top=1)',
    "extensions($filter=id ne 'x')",
    '*',
  ]
  for (const text of refused)
    test(`'${text}' is refused`, () =>
      assert.throws(() => parseExpand(text).map(readExpansion), { problem: 'InvalidQueryOption' }))

  test('a filter by extension is told from others', () => {
    assert.equal(readExtensionsFilter("Extensions/any(f:f/id eq 'x')"), 'x')
    assert.equal(readExtensionsFilter("subject eq 'x'"), undefined)
    assert.equal(readExtensionsFilter("Extensions/any(f:g/id eq 'x')"), undefined)
  })
})
