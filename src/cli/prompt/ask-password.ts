import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { OperatorError } from '../../kernel/operator-error.ts'

/** Nothing of what is typed is shown. */
export function askPassword(user: string): Promise<string> {
  if (!process.stdin.isTTY)
    throw new OperatorError(`Nobody is there to ask for the password of ${user}: set PGPASSWORD.`)
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true, historySize: 0 })
  process.stderr.write(`Password for user ${user}: `)
  return new Promise((resolve, reject) => {
    lines.once('line', resolve)
    lines.once('close', () => reject(new OperatorError('No password was given.')))
  }).finally(() => {
    lines.close()
    process.stderr.write('\n')
  }) as Promise<string>
}
