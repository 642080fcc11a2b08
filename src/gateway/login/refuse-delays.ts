import { refuse } from '../../wire/refusal.ts'
import { splitWords } from './split-options.ts'

/** Folded as PostgreSQL folds names in `options`. */
const delays = /(?:post|pre)_auth_delay/
/** `-W`, also behind letters that take no value. */
const shortDelay = /^-[bEeFijlnOPsT]*W/

/**
 * PostgreSQL asks the locale of the server which bytes are white space. Beyond ASCII any byte may be, also as a part of a longer
 * character. One that is a letter there hides no delay: it only joins words.
 */
const possibleSpace = /[\x80-\xff]/g

/**
 * Refuses a client that has its session begin later. It only serves to debug a server. Meanwhile PostgreSQL has checked the
 * role that the session asks for, and shows no role to a turn that ends sessions.
 */
export function refuseDelays(parameters: ReadonlyMap<string, string>): void {
  const bytes = Buffer.from(parameters.get('options') ?? '').toString('latin1')
  const words = splitWords(bytes.replaceAll(possibleSpace, ' '))
  const names = [...parameters.keys(), ...words].map((name) => name.replaceAll('-', '_').toLowerCase())
  if (names.some((name) => delays.test(name)) || words.some((word) => shortDelay.test(word)))
    refuse('StartDelay')
}
