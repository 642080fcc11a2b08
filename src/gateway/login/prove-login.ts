import { int32, message, readFields, readMechanisms } from '../../wire/messages.ts'
import { refuse, violation } from '../../wire/refusal.ts'
import { ScramClient, scramMechanism } from '../../wire/scram.ts'
import { maxBackendFrame, readLoginCode, type Side } from './authenticate.ts'

export interface FailedLogin {
  readonly sqlstate: string
  readonly why: string
}

/** The client and the audit are told the reason, and the database may be hostile. */
const longestReason = 200

/** Logs in as a login role. Undefined: it is in. The password of one is never sent, nor is a server believed without proof. */
export async function proveLogin(backend: Side, password: string): Promise<FailedLogin | undefined> {
  const scram = new ScramClient(password)
  let isProven = false
  for (;;) {
    const frame = await backend.reader.takeFrame(maxBackendFrame)
    const type = String.fromCharCode(frame[0] ?? 0)
    if (type === 'E') return readFailure(frame)
    if (type === 'N') continue
    if (type !== 'R') violation('unexpected message of the database during login')
    switch (readLoginCode(frame)) {
      case 0:
        if (!isProven) refuse('WeakLogin', { method: 'no password' })
        return undefined
      case 10: {
        if (!readMechanisms(frame).includes(scramMechanism))
          refuse('WeakLogin', { method: 'a login without SCRAM-SHA-256' })
        const first = Buffer.from(scram.first())
        backend.socket.write(message('p', `${scramMechanism}\0`, int32(first.length), first))
        break
      }
      case 11:
        backend.socket.write(message('p', await scram.proof(frame.toString('utf8', 9))))
        break
      case 12:
        scram.verify(frame.toString('utf8', 9))
        isProven = true
        break
      default:
        refuse('WeakLogin', { method: 'a password in a weaker form' })
    }
  }
}

function readFailure(frame: Buffer): FailedLogin {
  const fields = new Map(readFields(frame))
  return { sqlstate: fields.get('C') ?? '', why: (fields.get('M') ?? '').slice(0, longestReason) }
}
