import { createHmac, randomBytes } from 'node:crypto'
import type { Query } from '../db/query.ts'
import type { SealedColumn } from '../db/reseal.ts'
import { type SecretBox, SecretBoxError } from '../kernel/secret-box.ts'

/** The secret that all nodes of an installation share besides the signing keys. */
export interface IssuerSecret {
  readonly cookieKey: string
  /** The name under which a bearer value is stored: the database alone does not give the value away. */
  nameOf(value: string): string
  /** Proves that a form came from a page of ours. */
  formToken(interactionId: string): string
  /** Proves that a browser was here before. */
  browserProof(text: string): string
}

const place = 'oidc_state/IssuerSecret/current'

/** Sign-ins, codes, refresh tokens, and the secret itself. */
export const sealedSignIns: SealedColumn = {
  table: 'oidc_state',
  key: ['model', 'id'],
  column: 'payload',
  property: 'sealed',
  place: ([model = '', id = '']) => `oidc_state/${model}/${id}`,
}

/** Made by the first node that starts, kept sealed in the database. */
export async function loadIssuerSecret(sql: Query, box: SecretBox): Promise<IssuerSecret> {
  const fresh = box.seal(place, randomBytes(32).toString('base64url')).toString('base64')
  await sql`
    insert into oidc_state (model, id, payload) values ('IssuerSecret', 'current', ${sql.json({ sealed: fresh })})
    on conflict (model, id) do nothing`
  const [row] = await sql<{ payload: { sealed: string } }[]>`
    select payload from oidc_state where model = 'IssuerSecret' and id = 'current'`
  if (!row) throw new Error('the secret of the token service is missing')
  return deriveKeys(box.open(place, Buffer.from(row.payload.sealed, 'base64')))
}

/** Deletes the sign-ins of a secret that this secret key cannot open: no node can read them. */
export async function discardSealedState(sql: Query, box: SecretBox): Promise<void> {
  try {
    await loadIssuerSecret(sql, box)
  } catch (error) {
    if (!(error instanceof SecretBoxError)) throw error
    await sql`delete from oidc_state`
  }
}

/** Ends every sign-in, code and refresh token. The secret of the token service stays. */
export async function forgetSignIns(sql: Query): Promise<void> {
  await sql`delete from oidc_state where model <> 'IssuerSecret'`
}

function deriveKeys(root: string): IssuerSecret {
  const derive = (purpose: string) => createHmac('sha256', root).update(purpose).digest()
  const lookupKey = derive('lookup')
  const formKey = derive('form')
  const browserKey = derive('browser')
  return {
    cookieKey: derive('cookie').toString('base64url'),
    nameOf: (value) => createHmac('sha256', lookupKey).update(value).digest('base64url'),
    formToken: (interactionId) => createHmac('sha256', formKey).update(interactionId).digest('base64url'),
    browserProof: (text) => createHmac('sha256', browserKey).update(text).digest('base64url'),
  }
}
