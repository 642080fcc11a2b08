import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { int32, message } from '../../src/wire/messages.ts'
import { int16 } from './wire-client.ts'

/** A server that answers as its author likes: to the startup packet, and to everything behind it. */
export async function startHostileServer(
  greeting: readonly Buffer[],
  answer: (socket: Socket) => void = () => {},
) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('data', () => {
      socket.on('data', () => answer(socket))
      socket.write(Buffer.concat(greeting))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.dispose]() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** Asks for SCRAM with these rounds, in each login as often as said and all at once, and counts the proofs of one login. */
export async function startScramServer({
  rounds,
  times,
  leaves = false,
}: {
  rounds: number | string
  times: number
  /** Goes once it has a proof: the client waits for nothing more. */
  leaves?: boolean
}) {
  const sockets = new Set<Socket>()
  let proofs = 0
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}))
    let own = 0
    socket.once('data', () => {
      socket.once('data', (first) => {
        // A proof begins with the header of the client's first message, in base64.
        socket.on('data', (bytes) => {
          own += bytes.toString('latin1').split('c=biws').length - 1
          proofs = Math.max(proofs, own)
          if (leaves && own === times) socket.end()
        })
        const [, nonce = ''] = /r=([^,]+)$/.exec(first.toString('latin1')) ?? []
        const salt = Buffer.alloc(16).toString('base64')
        const challenge = message('R', int32(11), `r=${nonce}server,s=${salt},i=${rounds}`)
        socket.write(Buffer.concat(Array.from({ length: times }, () => challenge)))
      })
      socket.write(message('R', int32(10), 'SCRAM-SHA-256\0\0'))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    /** The most of any login. */
    get proofs() {
      return proofs
    },
    [Symbol.dispose]() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** A server like the one behind it, except that a COPY from it never ends. */
export async function startEndlessCopies(port: number) {
  const sockets = new Set<Socket>()
  const rows = Buffer.concat(Array.from({ length: 600 }, () => message('d', `${'x'.repeat(100)}\n`)))
  const server = createServer((client) => {
    const behind = connect(port, '127.0.0.1')
    for (const socket of [client, behind]) sockets.add(socket.on('error', () => {}))
    client.on('close', () => behind.destroy())
    behind.on('data', (bytes) => client.write(bytes))
    client.on('data', (bytes) => {
      if (!/COPY .* TO STDOUT/s.test(bytes.toString('latin1'))) return behind.write(bytes)
      behind.removeAllListeners('data').resume()
      const flood = () => {
        while (!client.destroyed && client.write(rows));
      }
      client.on('drain', flood).write(message('H', Buffer.alloc(3)))
      return flood()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.dispose]() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** Lets every client in without a proof. */
export const welcome = [message('R', int32(0)), message('Z', 'I')]

export function describeColumns(...names: readonly string[]): Buffer {
  const columns = names.map((name) =>
    Buffer.concat([Buffer.from(`${name}\0`), int32(0), int16(0), int32(25), int16(0), int32(0), int16(0)]),
  )
  return message('T', int16(names.length), ...columns)
}

export function dataRow(text: string): Buffer {
  return message('D', int16(1), int32(text.length), text)
}

/** A server like the one behind it that, once told to, writes another text of the same length in place of this one. */
export async function startForger(port: number, text: string, other: string) {
  const sockets = new Set<Socket>()
  const [wanted, forgery] = [Buffer.from(text), Buffer.from(other)]
  let isForging = false
  let forged = 0
  const forge = (bytes: Buffer) => {
    for (let at = bytes.indexOf(wanted); isForging && at >= 0; at = bytes.indexOf(wanted, at + 1)) {
      forgery.copy(bytes, at)
      forged++
    }
    return bytes
  }
  const server = createServer((client) => {
    const behind = connect(port, '127.0.0.1')
    for (const socket of [client, behind]) {
      sockets.add(socket.on('error', () => {}))
      socket.on('close', () => {
        client.destroy()
        behind.destroy()
      })
    }
    client.pipe(behind)
    behind.on('data', (bytes) => client.write(forge(bytes)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    forge(): void {
      isForging = true
    },
    get forged() {
      return forged
    },
    [Symbol.dispose]() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** A server like the one behind it that ignores, once a test says so, messages by open connections of this application, or by all of it. */
export async function startIgnoring(port: number, application: string) {
  const sockets = new Set<Socket>()
  const ignorable = new Set<Socket>()
  let ignored = 0
  let isIgnoring = false
  let ignoresNew = false
  const server = createServer((client) => {
    const behind = connect(port, '127.0.0.1')
    for (const socket of [client, behind]) {
      sockets.add(socket.on('error', () => {}))
      socket.on('close', () => {
        client.destroy()
        behind.destroy()
      })
    }
    client.once('data', (startup) => {
      if ((!isIgnoring || ignoresNew) && startup.includes(application)) ignorable.add(client)
    })
    client.on('data', (bytes) => {
      if (isIgnoring && ignorable.has(client)) ignored++
      else behind.write(bytes)
    })
    behind.pipe(client)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    ignore(options: { readonly new?: boolean } = {}): void {
      isIgnoring = true
      ignoresNew = options.new ?? false
    },
    get ignored() {
      return ignored
    },
    [Symbol.dispose]() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
