import { spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { OperatorError } from '../../kernel/operator-error.ts'

/** The user a PostgreSQL server runs as. */
export type Account = { uid: number; gid: number }

/** The system account `nobody`: it exists on nearly every system and has no other privileges. */
const nobody: Account = { uid: 65534, gid: 65534 }

/**
 * PostgreSQL refuses to run as root. Root lends it the account that owns the cluster already, else that of the person
 * behind sudo, else `nobody`. Undefined: it runs as the service does.
 */
export function chooseAccount(clusterDirectory: string): Account | undefined {
  const own = process.getuid?.()
  const owner = readOwner(clusterDirectory)
  if (own !== 0) {
    if (owner && owner.uid !== own) {
      throw new OperatorError(
        `the embedded database in ${clusterDirectory} belongs to user id ${owner.uid}, and this is user id ${own}: start it as the user who created it`,
      )
    }
    return undefined
  }
  const candidates = owner && owner.uid !== 0 ? [owner] : [readSudoer(), nobody]
  for (const account of candidates) if (account && hasName(account)) return account
  throw new OperatorError(
    'PostgreSQL does not run as root, and there is no user with id 65534 to lend it: create one, start as an ordinary user, or set MASQUERADE_DATABASE_URL',
  )
}

function readOwner(directory: string): Account | undefined {
  const found = statSync(directory, { throwIfNoEntry: false })
  return found && { uid: found.uid, gid: found.gid }
}

function readSudoer(): Account | undefined {
  const uid = Number(process.env.SUDO_UID)
  const gid = Number(process.env.SUDO_GID)
  return uid > 0 && gid > 0 ? { uid, gid } : undefined
}

/** initdb looks its user up by id, and gives up when there is no entry. */
function hasName(account: Account): boolean {
  return spawnSync('id', ['-un'], { ...account, cwd: '/' }).status === 0
}

/** Tried rather than computed from mode bits: access control lists and security modules have a say too. */
export function canEnter(directory: string, account: Account | undefined): boolean {
  return spawnSync('/bin/sh', ['-c', 'cd -- "$1"', 'sh', directory], { ...account, cwd: '/' }).status === 0
}
