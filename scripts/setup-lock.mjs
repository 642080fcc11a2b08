// One installation at a time in a checkout. The lock is a folder, as making one is atomic everywhere; it is
// beside node_modules, as an installation replaces that.
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const pollMs = 200
const heartbeatMs = 1_000
// Longer than any pause of a healthy holder; a holder whose process id now belongs to another is found by this.
const abandonedAfterMs = 60_000

export async function withSetupLock(folder, interactive, work) {
  await acquire(folder, interactive)
  const heartbeat = setInterval(() => touch(folder), heartbeatMs)
  const holders = [process.pid]
  const release = () => {
    clearInterval(heartbeat)
    rmSync(folder, { recursive: true, force: true })
  }
  const lock = {
    addHolder(pid) {
      holders.push(pid)
      writeHolders(folder, holders)
    },
    releaseAndDie(signal) {
      release()
      process.kill(process.pid, signal)
    },
  }
  try {
    return await work(lock)
  } finally {
    release()
  }
}

async function acquire(folder, interactive) {
  let isAnnounced = false
  while (!tryToMake(folder) && !tryToTakeOver(folder)) {
    if (interactive && !isAnnounced) process.stderr.write('Waiting for another installation in this folder …')
    isAnnounced = true
    await sleep(pollMs)
  }
  if (interactive && isAnnounced) process.stderr.write('\r\x1b[2K')
}

function tryToMake(folder) {
  try {
    mkdirSync(folder)
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
  writeHolders(folder, [process.pid])
  return true
}

/** Replaces holders that are gone. Of several that try, the one that makes the marker file wins. */
function tryToTakeOver(folder) {
  try {
    const holders = readHolders(folder)
    if (!isAbandoned(folder, holders)) return false
    const marker = path.join(folder, `after-${holders.join('-')}`)
    writeFileSync(marker, '', { flag: 'wx' })
    // The folder may have been removed and made anew since its holders were read.
    if (readHolders(folder).join() !== holders.join()) {
      rmSync(marker, { force: true })
      return false
    }
    writeHolders(folder, [process.pid])
    touch(folder)
    return true
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'EEXIST') return false
    throw error
  }
}

function isAbandoned(folder, holders) {
  const silentMs = Date.now() - statSync(folder).mtimeMs
  // Without a name in it, the folder has just been made, or its maker died at once.
  if (holders.length === 0) return silentMs > abandonedAfterMs
  return silentMs > abandonedAfterMs || !holders.some(isAlive)
}

function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

function readHolders(folder) {
  try {
    return readFileSync(path.join(folder, 'holders'), 'utf8').split(' ').map(Number)
  } catch (error) {
    if (error.code === 'ENOENT') return []
    throw error
  }
}

function writeHolders(folder, holders) {
  const draft = path.join(folder, `holders-${process.pid}`)
  writeFileSync(draft, holders.join(' '))
  renameSync(draft, path.join(folder, 'holders'))
}

function touch(folder) {
  const now = new Date()
  try {
    utimesSync(folder, now, now)
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
  }
}
