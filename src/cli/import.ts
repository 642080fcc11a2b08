import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { invitationHours } from '../directory/accounts/invitation.ts'
import { importDirectory } from '../directory/transfer/import-directory.ts'
import { ImportFailed, type ImportOutcome, maxFaults } from '../directory/transfer/import-result.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import { listGivenRights, readRootOwners } from '../masking/given-rights.ts'
import { type Command, readArgs, refuseUse, type ValuesOf } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { leave } from './impact.ts'
import { asCsv, describeOutcome, keepInvitations, listRemoved } from './import-report.ts'
import { isConfirmed } from './input.ts'
import { type OperatorAccess, openOperatorAccess } from './operator.ts'
import { type Progress, showProgress } from './progress.ts'
import { announce, currentSettings, report, warn } from './surroundings.ts'

const options = {
  'dry-run': { type: 'boolean' },
  prune: { type: 'boolean' },
  yes: { type: 'boolean', short: 'y' },
  invite: { type: 'boolean' },
  hours: { type: 'string' },
  invitations: { type: 'string' },
  json: { type: 'boolean' },
} as const

type Values = ValuesOf<typeof options>

export const importCommand: Command = {
  name: 'import',
  summary: 'Make users, groups, memberships and extensions those of files',
  help: `
Usage: masquerade import FILE [FILE …] [--dry-run] [--invite [--hours N] [--invitations FILE]]
       masquerade import FILE --prune [--dry-run | --yes]

Each file has one JSON object to a line, or is CSV with a header where its name ends in .csv. Objects that are not there are
created, others are changed where a line differs from them: properties that the line does not have stay, null clears one.
A second import of a file changes nothing. A file is imported whole or not at all; what is wrong in it is listed by
line, up to ${maxFaults} faults. Other changes of the objects that it changes wait until it ends. A pipe is refused: a file may be
read twice.

Properties have the names of the API; ids are GUIDs of your own choice. A line without an id is about the user of its
userPrincipalName, the group of its displayName, the application of its appId or the device of its deviceId.

  {"type":"user","id":"…","displayName":"…","userPrincipalName":"…","initialPassword":"…"}
  {"type":"group","id":"…","displayName":"…","mailNickname":"…","mailEnabled":false,"securityEnabled":true}
  {"type":"member","group":"<id>","member":"<id>"}
  {"type":"owner","object":"<id>","owner":"<id>"}
  {"type":"roleMember","roleTemplateId":"<id>","member":"<id>"}
  {"type":"extension","object":"<id>","extensionName":"…","applicationId":"<id>","data":{…}}

Also servicePrincipal, application, orgContact, device, directoryRole, extensionProperty and schemaExtension: what
'masquerade export' writes. In CSV the header tells what the rows are: userPrincipalName for users, group and member for
memberships by name, else displayName for groups; a column 'type' says it for each row. An empty field says nothing.
A membership names its group by displayName or id. Its member is a user by userPrincipalName, a group by a displayName
without an @, or either by id. A group becomes a member of a group that carries rights by its id alone: any person who may
create groups could give one that displayName.

  userPrincipalName,displayName,department,businessPhones
  ana@example.com,Ana,Sales,+32 1

  --dry-run           Check everything, say what would change, and change nothing.
  --prune             Also remove what the file does not have: objects of the kinds that it has, members and owners of the
                      objects that it names where it has any, holders of directory roles where it has any. Users and
                      groups can be restored. It asks on a terminal. The last administrator, the administrator of the
                      first start and the applications of the product stay.
  --invite            Give new users without an initialPassword an invitation: a password that works once and for --hours N
                      (72 unless said, 720 at most). Either must be changed at the first sign-in.
  --invitations FILE  Write the invitations to a file that only you can read, as CSV; else they are printed, this once.

It works for the user who can read the data directory, while the database runs.`,
  options,
  async run(args) {
    const { values, positionals: files } = readArgs('import', args, { options, allowPositionals: true })
    if (files.length === 0) return refuseUse('import', 'Name a file to import')
    if (values.prune && files.length > 1)
      return refuseUse('import', '--prune takes one file: what that does not have is removed')
    const hours = readHours(values)
    await using access = await openOperatorAccess(currentSettings())
    for (const file of files) {
      const code = await importFile(access, file, values, hours)
      if (code !== exitCodes.done) return code
    }
    return exitCodes.done
  },
}

function readHours({ invite, hours, invitations }: Values): number | undefined {
  if (!invite) {
    if (hours === undefined && invitations === undefined) return undefined
    return refuseUse('import', '--hours and --invitations are for --invite')
  }
  if (hours === undefined) return invitationHours.usual
  const count = /^[1-9]\d{0,2}$/.test(hours) ? Number(hours) : Number.POSITIVE_INFINITY
  return count <= invitationHours.most
    ? count
    : refuseUse('import', `--hours takes a number from 1 to ${invitationHours.most}`)
}

/** Ends the transaction of an import that was to be tried only. */
class Tried extends Error {
  readonly outcome: ImportOutcome
  constructor(outcome: ImportOutcome) {
    super('tried')
    this.outcome = outcome
  }
}

async function importFile(
  access: OperatorAccess,
  file: string,
  values: Values,
  hours: number | undefined,
): Promise<number> {
  const facts = { size: await sizeOf(file) }
  let asked: ImportOutcome | undefined
  try {
    const isDry = values['dry-run'] ?? false
    if (isDry || (values.prune && !values.yes)) {
      const tried = await attempt(access, file, facts, values, {})
      asked = tried
      const words = `${describeOutcome(file, 'would import', tried)}${listRemoved(tried)}`
      if (isDry) {
        const { removedDigest, ...shown } = tried
        report(values, { file, ...shown }, words)
        return exitCodes.done
      }
      announce(values, words)
      if (tried.removed > 0 && !(await isConfirmed())) return leave(values)
    }
    const outcome = await attempt(access, file, facts, values, { isKept: true, hours, asked })
    const { invitations, removedDigest, ...counts } = outcome
    const isKept = values.invitations !== undefined && invitations.length > 0
    if (isKept) await keepInvitations(values.invitations ?? '', invitations)
    const shown = isKept ? counts : { ...counts, invitations }
    report(
      values,
      { file, ...shown },
      describeOutcome(file, 'imported', outcome) + (isKept ? '' : asCsv(invitations)),
    )
    return exitCodes.done
  } catch (error) {
    if (!(error instanceof ImportFailed)) throw error
    const lines = error.faults.map(({ line, reason }) => `${file}:${line}: ${reason}\n`)
    warn(`${lines.join('')}masquerade: ${error.message} Nothing was imported from it.\n`)
    return exitCodes.failed
  }
}

interface Wishes {
  readonly isKept?: boolean
  /** Of invitations. */
  readonly hours?: number | undefined
  /** The removals that the operator was asked about; others are refused. */
  readonly asked?: ImportOutcome | undefined
}

/** Imports a file, or tries to: whatever it did is undone then. */
async function attempt(
  { database, tenantId }: OperatorAccess,
  file: string,
  facts: FileFacts,
  values: Values,
  { isKept = false, hours: inviteHours, asked }: Wishes,
): Promise<ImportOutcome> {
  const progress = showProgress()
  try {
    return await database.transaction(async (tx) => {
      const outcome = await importDirectory(tx, {
        tenantId,
        fileName: basename(file),
        chunks: readChunks(file, facts, progress),
        format: /\.csv$/i.test(file) ? 'csv' : 'json',
        prune: values.prune ?? false,
        ...(inviteHours !== undefined && { inviteHours }),
        listGivenRights,
        readRootOwners,
        onProgress: (step, lines) => {
          if (step !== 'reading') progress.say(`${file}: ${step} ${lines.toLocaleString('en')} lines`)
        },
      })
      if (!isKept) throw new Tried(outcome)
      if (asked !== undefined && !removesSame(asked, outcome))
        throw new OperatorError(
          `${file}: the directory has changed since, and other objects, members or owners would be removed. Nothing was imported from it: import it again.`,
        )
      return outcome
    })
  } catch (error) {
    if (error instanceof Tried) return error.outcome
    throw error
  } finally {
    progress.end()
  }
}

/** Names count too: the operator decided by those that were shown, and an object may have another by now. */
function removesSame(asked: ImportOutcome, outcome: ImportOutcome): boolean {
  return asked.removedDigest === outcome.removedDigest && listRemoved(asked) === listRemoved(outcome)
}

async function sizeOf(file: string): Promise<number> {
  try {
    const found = await stat(file)
    if (found.isFile()) return found.size
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new OperatorError(`${file} cannot be read (${code}).`, { cause })
  }
  // A pipe can be read once. An import that is tried before it is confirmed, or run again after a deadlock, reads the file again.
  throw new OperatorError(`${file} is no regular file. Write the lines to a file, and import that.`)
}

interface FileFacts {
  readonly size: number
  /** Of the content that was read first. */
  digest?: string
}

/** The chunks of a file that is to have this size and, where it was read before, the same content. */
export async function* readChunks(
  file: string,
  facts: FileFacts,
  progress: Progress,
): AsyncGenerator<Uint8Array> {
  const { size } = facts
  const hash = createHash('sha256')
  let done = 0
  for await (const chunk of createReadStream(file, { highWaterMark: 256 * 1024 })) {
    done += chunk.length
    hash.update(chunk)
    progress.say(`${file}: read ${size === 0 ? 100 : Math.floor((done / size) * 100)}%`)
    yield chunk
  }
  // Where a part of the lines is missing, --prune would remove what they name.
  if (done < size)
    throw new OperatorError(`${file} has become shorter while it was read. Nothing was imported from it.`)
  const digest = hash.digest('base64')
  facts.digest ??= digest
  // The operator was asked about another content, or a part of it was judged.
  if (facts.digest !== digest)
    throw new OperatorError(`${file} has changed since it was read first. Nothing was imported from it.`)
}
