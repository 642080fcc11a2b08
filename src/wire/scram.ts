import { createHash, createHmac, pbkdf2, pbkdf2Sync, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { violation } from './refusal.ts'

export const scramMechanism = 'SCRAM-SHA-256'

/** PostgreSQL's own number; a server that asks for fewer is being attacked, for many more it attacks us. */
const iterations = 4096
const maxIterations = 1_000_000
const keyBytes = 32
const channel = 'n,,'

const derive = promisify(pbkdf2)

/** The verifier that PostgreSQL stores instead of a password. The same password and salt give the same text. */
export function writeVerifier(password: string, salt: Buffer): string {
  const salted = pbkdf2Sync(password, salt, iterations, keyBytes, 'sha256')
  const stored = createHash('sha256').update(hmac(salted, 'Client Key')).digest('base64')
  const server = hmac(salted, 'Server Key').toString('base64')
  return `${scramMechanism}$${iterations}:${salt.toString('base64')}$${stored}:${server}`
}

/** The client's side of a login by SCRAM-SHA-256 (RFC 5802, RFC 7677), without channel binding. */
export class ScramClient {
  readonly #password: string
  readonly #bare: string
  readonly #nonce: string
  #serverSignature: Buffer | undefined
  #isAsked = false

  /** `user` is empty for PostgreSQL, which takes the name of the startup packet. The nonce is given by tests alone. */
  constructor(password: string, user = '', nonce = randomBytes(18).toString('base64')) {
    this.#password = password
    this.#nonce = nonce
    this.#bare = `n=${user},r=${nonce}`
  }

  first(): string {
    return channel + this.#bare
  }

  /** The proof, in answer to the server's first message. Refuses a second one: each costs up to a million rounds. */
  async proof(serverFirst: string): Promise<string> {
    if (this.#isAsked) violation('the database asks for a second proof')
    this.#isAsked = true
    const { r: nonce = '', s: salt = '', i: count = '' } = readAttributes(serverFirst)
    if (!nonce.startsWith(this.#nonce) || nonce.length <= this.#nonce.length || salt === '')
      violation('malformed SCRAM message of the database')
    const rounds = readRounds(count)
    if (rounds < iterations || rounds > maxIterations)
      violation('the database asks for an unusual SCRAM login')
    const salted = await derive(this.#password, Buffer.from(salt, 'base64'), rounds, keyBytes, 'sha256')
    const withoutProof = `c=${Buffer.from(channel).toString('base64')},r=${nonce}`
    const signed = `${this.#bare},${serverFirst},${withoutProof}`
    const clientKey = hmac(salted, 'Client Key')
    const signature = hmac(createHash('sha256').update(clientKey).digest(), signed)
    this.#serverSignature = hmac(hmac(salted, 'Server Key'), signed)
    const proof = Buffer.from(clientKey.map((byte, at) => byte ^ (signature[at] ?? 0)))
    return `${withoutProof},p=${proof.toString('base64')}`
  }

  /** Throws unless the server proves that it knows the verifier: a server that does not is an impostor. */
  verify(serverFinal: string): void {
    const sent = Buffer.from(readAttributes(serverFinal).v ?? '', 'base64')
    const expected = this.#serverSignature
    if (!expected || sent.length !== expected.length || !timingSafeEqual(sent, expected))
      violation('the database did not prove that it knows the login role')
  }
}

/** The server's side, over a verifier. Channel binding is not offered. */
export class ScramServer {
  readonly #salt: string
  readonly #rounds: string
  readonly #storedKey: Buffer
  readonly #serverKey: Buffer
  #signed = ''
  #withoutProof = ''

  constructor(verifier: string) {
    const [, rounds = '', salt = '', stored = '', server = ''] =
      /^SCRAM-SHA-256\$(\d+):([^$]+)\$([^:]+):(.+)$/.exec(verifier) ?? []
    this.#rounds = rounds
    this.#salt = salt
    this.#storedKey = Buffer.from(stored, 'base64')
    this.#serverKey = Buffer.from(server, 'base64')
  }

  /** The salt and a nonce, in answer to the client's first message. The nonce is given by tests alone. */
  first(clientFirst: string, nonce = randomBytes(18).toString('base64')): string {
    const [, header = '', bare = ''] = /^([ny],,)(n=[^,]*,r=.+)$/s.exec(clientFirst) ?? []
    const { r: clientNonce = '' } = readAttributes(bare)
    if (clientNonce === '') violation('malformed SCRAM message')
    const answer = `r=${clientNonce}${nonce},s=${this.#salt},i=${this.#rounds}`
    this.#withoutProof = `c=${Buffer.from(header).toString('base64')},r=${clientNonce}${nonce}`
    this.#signed = `${bare},${answer},${this.#withoutProof}`
    return answer
  }

  /** The proof that this side knows the verifier; undefined when the client does not know the password. */
  final(clientFinal: string): string | undefined {
    const at = clientFinal.lastIndexOf(',p=')
    if (at < 0 || clientFinal.slice(0, at) !== this.#withoutProof) return undefined
    const proof = Buffer.from(clientFinal.slice(at + 3), 'base64')
    const signature = hmac(this.#storedKey, this.#signed)
    if (proof.length !== signature.length) return undefined
    const clientKey = Buffer.from(proof.map((byte, index) => byte ^ (signature[index] ?? 0)))
    const stored = createHash('sha256').update(clientKey).digest()
    if (stored.length !== this.#storedKey.length || !timingSafeEqual(stored, this.#storedKey))
      return undefined
    return `v=${hmac(this.#serverKey, this.#signed).toString('base64')}`
  }
}

/** A challenge that is not to be passed to a client: by the proof, its maker would guess the password that much faster. */
export function asksFewRounds(serverFirst: string): boolean {
  const counts = serverFirst.split(',').filter((part) => part.startsWith('i='))
  return counts.length !== 1 || !counts.every((part) => readRounds(part.slice(2)) >= iterations)
}

function readRounds(count: string): number {
  return /^\d{1,9}$/.test(count) ? Number(count) : 0
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

/** `a=…,b=…`; an unknown attribute does no harm, `m` would be an extension that has to be understood. */
function readAttributes(text: string): Partial<Record<string, string>> {
  const pairs = text.split(',').map((part) => [part.slice(0, 1), part.slice(2)] as const)
  if (pairs.some(([name]) => name === 'm')) violation('the database asks for an unusual SCRAM login')
  return Object.fromEntries(pairs)
}
