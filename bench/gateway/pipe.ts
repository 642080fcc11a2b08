// The least that a proxy in Node can do: bytes from one socket to the other, unseen. A process of its own.
import { connect, createServer } from 'node:net'

const server = createServer({ noDelay: true }, (near) => {
  const far = connect({ host: '127.0.0.1', port: Number(process.argv[2]), noDelay: true })
  for (const socket of [near, far]) socket.on('error', () => {})
  near.on('close', () => far.destroy())
  far.on('close', () => near.destroy())
  near.pipe(far)
  far.pipe(near)
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (typeof address === 'object') process.send?.({ port: address?.port })
})
process.once('disconnect', () => process.exit())
