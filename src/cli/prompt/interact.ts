import { createInterface } from 'node:readline'
import { exitCodes, type Shell } from './shell.ts'

const signs = { I: '', T: '*', E: '!' } as const

/** A person at a terminal: lines with history, Ctrl+C for what runs or was begun, Ctrl+D for the end. */
export async function interact(shell: Shell, database: string, cancel: () => Promise<void>): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>()
  const lines = createInterface({ input: process.stdin, output: process.stdout, historySize: 1000 })
  let isClosed = false
  const ask = () => {
    if (isClosed) return
    const transaction = signs[shell.client.getTransactionStatus() ?? 'I']
    lines.setPrompt(`${database}${shell.splitter.open}${transaction}> `)
    lines.prompt()
  }
  let waiting = Promise.resolve()
  lines.on('line', (line) => {
    waiting = waiting.then(async () => {
      if (shell.hasQuit || shell.isLost) return
      await shell.takeLine(line)
      if (shell.isLost) resolve(exitCodes.lost)
      else if (shell.hasQuit) resolve(exitCodes.good)
      else ask()
    })
  })
  lines.on('SIGINT', () => {
    if (shell.isRunning) {
      process.stdout.write('^C\n')
      cancel().catch(() => process.stderr.write('The statement could not be cancelled.\n'))
    } else {
      shell.splitter.reset()
      lines.write(null, { ctrl: true, name: 'e' })
      lines.write(null, { ctrl: true, name: 'u' })
      process.stdout.write('^C\n')
      ask()
    }
  })
  lines.on('close', () => {
    isClosed = true
    void waiting.then(() => resolve(exitCodes.good))
  })
  shell.client.on('end', () => !shell.isRunning && resolve(exitCodes.lost))
  process.stdout.write(
    'psql is not installed: this is a small prompt in its place. \\? lists what it knows, \\q ends it.\n',
  )
  ask()
  try {
    return await promise
  } finally {
    lines.close()
  }
}
