import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { test } from 'node:test'
import { createHostGuard, GuardedSocket, type HostRefused } from '../../../src/db/host-guard.ts'
import { readHostEntry } from '../../../src/kernel/network.ts'

const names = (book: Record<string, string[]>) => async (host: string) => book[host] ?? [host]

const outcome = (entries: string[], host: string, book: Record<string, string[]> = {}, port = 5432) =>
  createHostGuard(entries, names(book))(host, port).then(
    (addresses) => addresses.join(),
    ({ code }: HostRefused) => code,
  )

test('addresses that no database has are refused, however they are written and whatever leads to them', async () => {
  const addresses = [
    '169.254.169.254',
    '::ffff:169.254.169.254',
    '::ffff:a9fe:a9fe',
    'fe80::1',
    'fe80::1%eth0',
    '0.0.0.0',
    '::',
    'fd00:ec2::254',
    '100.100.100.200',
    '224.0.0.1',
    '255.255.255.255',
  ]
  for (const address of addresses) {
    assert.equal(await outcome([], address), 'EHOSTREFUSED', address)
    assert.equal(await outcome([], 'db.example', { 'db.example': ['10.0.0.1', address] }), 'EHOSTREFUSED')
    assert.equal(await outcome(['db.example'], 'db.example', { 'db.example': [address] }), 'EHOSTREFUSED')
  }
  for (const host of ['127.0.0.1', '10.0.0.1', '::1', '2001:db8::1'])
    assert.equal(await outcome([], host), host)
  assert.equal(await outcome(['169.254.0.0/16'], '169.254.1.1'), '169.254.1.1')
})

test('a list names hosts by name, by address and by network', async () => {
  const book = { 'a.internal': ['10.1.2.3'], 'b.internal': ['192.168.0.1'] }
  assert.equal(await outcome(['*.internal'], 'A.internal', { 'A.internal': ['10.1.2.3'] }), '10.1.2.3')
  assert.equal(await outcome(['10.0.0.0/8'], 'a.internal', book), '10.1.2.3')
  assert.equal(await outcome(['10.0.0.0/8'], 'b.internal', book), 'EHOSTREFUSED')
  assert.equal(await outcome(['10.0.0.0/8', 'b.internal'], 'b.internal', book), '192.168.0.1')
  assert.equal(await outcome(['a.internal'], 'x.a.internal', book), 'EHOSTREFUSED')
})

test('an entry with a port lets that port of its hosts pass alone', async () => {
  const book = { 'a.internal': ['10.1.2.3'], 'b.internal': ['::1'] }
  const at = (entries: string[], host: string, port: number) => outcome(entries, host, book, port)
  for (const entry of [
    '10.1.2.3:5432',
    '10.0.0.0/8:5432',
    'a.internal:5432',
    'A.internal:5432',
    '*.internal:5432',
  ]) {
    assert.equal(await at([entry], 'a.internal', 5432), '10.1.2.3', entry)
    assert.equal(await at([entry], 'a.internal', 5433), 'EHOSTREFUSED', entry)
    assert.equal(await at([entry, '10.1.2.3:5433'], 'a.internal', 5433), '10.1.2.3', entry)
    assert.equal(await at([entry, 'c.internal'], 'a.internal', 5433), 'EHOSTREFUSED', entry)
  }
  for (const entry of ['[::1]:5432', '[::/64]:5432', '[0:0:0:0:0:0:0:1]:5432']) {
    assert.equal(await at([entry], 'b.internal', 5432), '::1', entry)
    assert.equal(await at([entry], 'b.internal', 5433), 'EHOSTREFUSED', entry)
  }
  assert.equal(await at(['::1', '[10.1.2.3]'], 'b.internal', 1), '::1', 'an entry without a port')
  assert.equal(await outcome(['169.254.1.1:1'], '169.254.1.1', {}, 2), 'EHOSTREFUSED')
  assert.equal(await outcome(['169.254.1.1:1'], '169.254.1.1', {}, 1), '169.254.1.1')
  for (const wrong of [
    'a:0',
    'a:65536',
    'a:b',
    ':1',
    '[::1',
    '::1]:1',
    'a:1:2',
    '[]:1',
    'a/b',
    '10.0.0.0/33',
    '::1/129',
    '[fe80::/200]:1',
  ])
    assert.equal(readHostEntry(wrong), undefined, wrong)
})

test('numbers that the system reads as an address are checked as that address', async () => {
  const guard = createHostGuard([])
  for (const host of ['2852039166', '0xa9fea9fe', '169.254.43518'])
    await assert.rejects(guard(host, 5432), { name: 'Error' }, host)
})

test('a connection goes to the address that was checked, also when the name changes its mind', async (t) => {
  const server = createServer((socket) => socket.end('here'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const answers = [['127.0.0.1'], ['169.254.169.254']]
  const guard = createHostGuard([], async () => answers.shift() ?? [])
  const open = () => new GuardedSocket(guard).connect(port, 'rebound.example')
  const [heard] = await once(open(), 'data')
  assert.equal(String(heard), 'here')
  const [error] = await once(open(), 'error')
  assert.equal(error.code, 'EHOSTREFUSED')
})
