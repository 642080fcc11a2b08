import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { OperatorError } from '../kernel/operator-error.ts'
import { surroundings } from './surroundings.ts'

/** The user who signed in with `masquerade login`, and the tokens. */
export interface Session {
  /** Where the service is. */
  readonly url: string
  /** PEM file of the CA that it was trusted by; null: those of the system. */
  readonly caFile: string | null
  readonly userPrincipalName: string
  readonly accessToken: string
  readonly expiresAtMs: number
  readonly refreshToken: string | null
}

function sessionFolder(): string {
  const configured = surroundings().env.XDG_CONFIG_HOME
  return join(configured?.startsWith('/') ? configured : join(homedir(), '.config'), 'masquerade')
}

const sessionFile = () => join(sessionFolder(), 'session.json')
const caFile = () => join(sessionFolder(), 'ca.pem')

export async function readSession(): Promise<Session | null> {
  try {
    return JSON.parse(await readFile(sessionFile(), 'utf8')) as Session
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT' || cause instanceof SyntaxError) return null
    throw unusable(cause)
  }
}

export async function writeSession(session: Session): Promise<void> {
  await writeKept(sessionFile(), JSON.stringify(session, null, 2))
}

/** Keeps a CA that was named, and returns where: its file may be in a folder where other users can replace it later. */
export async function keepCa(text: string): Promise<string> {
  await writeKept(caFile(), text)
  return caFile()
}

/** Writes a private draft and renames it, so that no reader sees half a file and other users can never open it. */
async function writeKept(file: string, text: string): Promise<void> {
  const draft = `${file}.${process.pid}`
  try {
    await mkdir(sessionFolder(), { recursive: true, mode: 0o700 })
    await writeFile(draft, text, { mode: 0o600, flag: 'wx' })
    await rename(draft, file)
  } catch (cause) {
    await rm(draft, { force: true })
    throw unusable(cause)
  }
}

export async function deleteSession(): Promise<void> {
  await rm(sessionFile(), { force: true })
}

export async function deleteCa(): Promise<void> {
  await rm(caFile(), { force: true })
}

function unusable(cause: unknown): OperatorError {
  return new OperatorError(`${sessionFile()} cannot be used (${(cause as NodeJS.ErrnoException).code}).`, {
    cause,
  })
}
