// Makes the checkout ready to run. Plain JavaScript without dependencies: it runs on the system's Node,
// from version 20 on, at a time when nothing may be installed yet.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { closeSync, existsSync, openSync, readFileSync, readSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { requireSupportedNode, SetupError } from './find-node.mjs'
import { withSetupLock } from './setup-lock.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const stampFile = path.join(root, 'node_modules', '.masquerade-setup')

/**
 * Installs dependencies when they are missing or stale. `development` asks for the packages that only tests and checks
 * need, too.
 */
export async function ensureInstalled({ interactive = isInteractive(), development = false } = {}) {
  requireSupportedNode()
  if (isInstalled(development)) return
  await withSetupLock(path.join(root, '.setup-lock'), interactive, async (lock) => {
    if (!isInstalled(development)) await install(interactive, lock)
  })
}

export function isInteractive() {
  return process.stderr.isTTY === true && !process.env.CI && process.env.TERM !== 'dumb'
}

function isInstalled(development) {
  const stamp = computeStamp()
  if (readText(stampFile) === stamp) return true
  if (!satisfiesLock(development)) return false
  // Another program installed. Only a complete installation is worth remembering.
  if (satisfiesLock(true)) writeStamp(stamp)
  return true
}

function computeStamp() {
  const lock = readText(path.join(root, 'package-lock.json'))
  if (lock === undefined) throw new SetupError(`package-lock.json is missing in ${root}`)
  const hash = createHash('sha256').update(lock).digest('hex')
  return `${hash} ${process.platform}-${process.arch}-${detectLibc()}\n`
}

function writeStamp(stamp) {
  try {
    writeFileSync(stampFile, stamp)
  } catch {
    // A checkout that this user may not write to is compared again next time.
  }
}

/** Compares the lock with the record that npm leaves of what it installed. */
function satisfiesLock(development) {
  const installed = readPackages(path.join(root, 'node_modules', '.package-lock.json'))
  const wanted = readPackages(path.join(root, 'package-lock.json'))
  if (!installed || !wanted) return false
  return Object.entries(wanted).every(([folder, entry]) => {
    if (folder === '' || (entry.dev && !development) || !suitsPlatform(entry)) return true
    const found = installed[folder]
    // npm leaves out what only an unsuitable optional package needs; such packages name no platform of their own.
    if (!found) return entry.optional === true && !entry.os && !entry.cpu
    return found.version === entry.version && existsSync(path.join(root, folder, 'package.json'))
  })
}

function suitsPlatform(entry) {
  const isAllowed = (named, value) => {
    if (!named) return true
    const list = [named].flat()
    if (list.includes(`!${value}`)) return false
    return list.includes(value) || list.every((item) => item.startsWith('!'))
  }
  return (
    isAllowed(entry.os, process.platform) &&
    isAllowed(entry.cpu, process.arch) &&
    (process.platform !== 'linux' || isAllowed(entry.libc, detectLibc()))
  )
}

/** The loader that the running Node names in its ELF header tells the C library. */
function detectLibc() {
  if (process.platform !== 'linux') return 'none'
  const head = Buffer.alloc(4096)
  const file = openSync(process.execPath, 'r')
  try {
    readSync(file, head, 0, head.length, 0)
  } finally {
    closeSync(file)
  }
  return head.includes('/ld-musl-') ? 'musl' : 'glibc'
}

async function install(interactive, lock) {
  // An `npm pack` that was killed leaves it behind, and npm prefers it to package-lock.json.
  rmSync(path.join(root, 'npm-shrinkwrap.json'), { force: true })
  const stopProgress = interactive ? showProgress('Installing dependencies') : () => {}
  try {
    const { code, output } = await runNpmCi(lock, stopProgress)
    stopProgress()
    if (code !== 0)
      throw new SetupError(`dependencies could not be installed: npm ci failed\n${output.trim()}`)
  } finally {
    stopProgress()
  }
  writeStamp(computeStamp())
}

function runNpmCi(lock, onSignal) {
  const [command, ...prefix] = findNpm()
  // One state of node_modules for every purpose, whatever NODE_ENV and the user's npm settings leave out.
  const options = ['--loglevel=error', '--no-fund', '--no-audit', '--include=dev', '--include=optional']
  return new Promise((resolve, reject) => {
    const npm = spawn(command, [...prefix, 'ci', ...options], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    lock.addHolder(npm.pid)
    const errors = []
    npm.stdout.resume()
    npm.stderr.on('data', (chunk) => errors.push(chunk))
    npm.once('error', (error) => reject(new SetupError(`npm could not be started: ${error.message}`)))

    // npm must be gone before the lock is: two installations at once would spoil each other's work.
    const received = []
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
    const passOn = (signal) => {
      received.push(signal)
      onSignal()
      npm.kill(signal)
      // npm finishes what it is at first, which can take long. Half an installation is found out by the next start.
      setTimeout(() => npm.kill('SIGKILL'), 2_000).unref()
    }
    for (const signal of signals) process.on(signal, passOn)
    npm.once('close', (code, signal) => {
      for (const name of signals) process.removeListener(name, passOn)
      if (received.length > 0) lock.releaseAndDie(received[0])
      else resolve({ code: code ?? signal, output: Buffer.concat(errors).toString() })
    })
  })
}

/** The npm that started us, run by the Node that runs it; otherwise the first one on the path. */
function findNpm() {
  const cli = process.env.npm_execpath
  if (!cli || path.basename(cli) !== 'npm-cli.js' || !existsSync(cli)) return ['npm']
  return [process.env.npm_node_execpath || process.execPath, cli]
}

/** One line on the terminal that moves while work goes on, and is gone afterwards. */
function showProgress(text) {
  const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
  const startedAt = Date.now()
  const draw = () => {
    const elapsedMs = Date.now() - startedAt
    const frame = frames[Math.floor(elapsedMs / 100) % frames.length]
    process.stderr.write(`\r\x1b[2K${frame} ${text} … ${Math.floor(elapsedMs / 1000)} s`)
  }
  draw()
  const timer = setInterval(draw, 100)
  return () => {
    if (!timer.hasRef()) return
    timer.unref()
    clearInterval(timer)
    process.stderr.write('\r\x1b[2K')
  }
}

function readPackages(file) {
  const text = readText(file)
  try {
    return text && JSON.parse(text).packages
  } catch {
    return undefined
  }
}

function readText(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
