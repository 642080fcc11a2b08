import { connect } from 'node:net'
import { sslRequest, writeStartup } from '../../src/wire/startup.ts'

/** Opens so many connections from one address, or with `many` from all of 127.1.0.0/16, says so much on each and never more. Prints a line when all were tried. */
const [port = '0', localAddress = '127.0.0.1', count = '0', kind = 'silent', user = ''] =
  process.argv.slice(2)
const atOnce = 200

const says: Record<string, Buffer> = {
  silent: Buffer.alloc(0),
  'a byte': Buffer.from([0]),
  'half of a handshake': sslRequest,
  'a name': writeStartup([['user', user]]),
}
const said = says[kind] ?? Buffer.alloc(0)

let tried = 0
let closed = 0
function open(): void {
  if (tried === Number(count)) return
  tried++
  const own = localAddress === 'many' ? `127.1.${tried % 250}.${1 + (tried % 249)}` : localAddress
  const socket = connect({ port: Number(port), host: '127.0.0.1', localAddress: own })
  let isOver = false
  const over = () => {
    if (isOver) return
    isOver = true
    open()
    if (tried === Number(count)) process.stdout.write('tried\n')
  }
  socket.on('error', over)
  socket.on('connect', () => {
    if (said.length > 0) socket.write(said)
    over()
  })
  socket.once('data', () => {
    if (kind === 'half of a handshake') socket.write(Buffer.from([0x16, 3, 1, 2, 0, 1]))
  })
  socket.on('close', () => {
    over()
    if (++closed === Number(count)) process.stdout.write('closed\n')
  })
}
for (let index = 0; index < atOnce; index++) open()
