import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { test } from 'node:test'
import { NetworkLink } from '../cluster/proxy.ts'

test('bytes that were sent before a delay ended arrive before those that were sent after it', async () => {
  const received = Promise.withResolvers<string>()
  const server = createServer((socket) => {
    let text = ''
    socket.setEncoding('utf8').on('data', (part) => {
      text += part
    })
    socket.on('end', () => received.resolve(text))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const link = await NetworkLink.open((server.address() as AddressInfo).port)
  const client = connect(link.port, '127.0.0.1')
  await once(client, 'connect')
  const seen = link.roundTrips
  link.slow(200)
  client.write('first ')
  while (link.roundTrips === seen) await new Promise(setImmediate)
  link.heal()
  client.end('second')
  assert.equal(await received.promise, 'first second')
  await link.close()
  server.close()
})
