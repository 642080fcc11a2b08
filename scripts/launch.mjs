// Runs one of our programs on a Node that can. A checkout is first made sure to be installed; a package holds the
// programs compiled, as Node strips no types below node_modules.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { canRun, findNode, requireSupportedNode, SetupError } from './find-node.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const isPackage = !existsSync(path.join(root, 'src'))

/** `entry` is the file that called; `source` the program to run, from the root of the checkout. */
export async function launch({ entry, source, development = false }) {
  const program = isPackage ? path.join('dist', source.replace(/\.ts$/, '.js')) : source
  const args = process.argv.slice(2)
  endWithParent()
  try {
    if (isPackage) requireSupportedNode()
    else await (await import('./setup.mjs')).ensureInstalled({ development })
    if (!canRun(program)) return runOn(findNode(), [fileURLToPath(entry), ...args])
  } catch (error) {
    if (!(error instanceof SetupError)) throw error
    process.stderr.write(`masquerade: ${error.message}\n`)
    process.exitCode = 1
    return
  }
  // `npx ./masquerade-….tgz` alone serves. In a checkout, and once installed, the bare command lists the commands.
  if (isPackage && args.length === 0 && process.env.npm_lifecycle_event === 'npx') args.push('serve')
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
 * Ends this process when its parent is gone: a parent that was killed passes no signal on, and the service would keep the
 * data folder locked. The kernel closes the channel to our own launcher. The end of npm is seen by a change of parent;
 * npm also kills only the shell between itself and a command that npx runs.
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
