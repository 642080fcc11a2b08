// Runs one of our TypeScript programs on a Node that can, after making sure that everything is installed.
import { spawn } from 'node:child_process'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { canRunSources, ensureReady, SetupError } from './setup.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))

/** `entry` is the file that called; `program` the source to run, from the root of the checkout. */
export async function launch({ entry, program, development = false }) {
  const args = process.argv.slice(2)
  endWithParent()
  try {
    const node = await ensureReady({ development })
    if (!canRunSources()) return runOn(node, [fileURLToPath(entry), ...args])
  } catch (error) {
    if (!(error instanceof SetupError)) throw error
    process.stderr.write(`masquerade: ${error.message}\n`)
    process.exitCode = 1
    return
  }
  const file = path.join(root, program)
  process.argv = [process.execPath, file, ...args]
  await import(pathToFileURL(file).href)
}

/** Starts the same entry again on the other Node, and is as transparent as a process in between can be. */
function runOn(node, args) {
  const child = spawn(node, args, { stdio: ['inherit', 'inherit', 'inherit', 'ipc'] })
  // A terminal sends SIGINT to the child as well, and the child must not see two.
  const signals = process.stdin.isTTY ? ['SIGTERM', 'SIGHUP'] : ['SIGINT', 'SIGTERM', 'SIGHUP']
  const passOn = (signal) => child.kill(signal)
  for (const signal of signals) process.on(signal, passOn)
  if (process.stdin.isTTY) process.on('SIGINT', () => {})
  child.once('error', (error) => {
    process.stderr.write(`masquerade: ${node} could not be started: ${error.message}\n`)
    process.exit(1)
  })
  child.once('exit', (code, signal) => {
    if (signal === null) process.exit(code)
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
}

/**
 * Whoever started us may be killed with no chance to pass a signal on, and must not leave us behind with the data
 * folder in our hands. Our own launcher is missed by the channel to it, which the kernel then closes. npm is missed by
 * a change of parent; it also kills only the shell between itself and a command that npx runs.
 */
function endWithParent() {
  const end = () => process.kill(process.pid, 'SIGTERM')
  if (process.channel) {
    process.once('disconnect', end)
    process.channel.unref()
  } else if (['start', 'test', 'npx'].includes(process.env.npm_lifecycle_event)) {
    const parent = process.ppid
    const timer = setInterval(() => {
      if (process.ppid === parent) return
      clearInterval(timer)
      end()
    }, 500)
    timer.unref()
  }
}
