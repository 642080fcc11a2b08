import { randomUUID } from 'node:crypto'
import { writeAudit } from '../../db/audit.ts'
import { appendChanges } from '../../db/change-log.ts'
import type { Tx } from '../../db/database.ts'
import { Problem } from '../../kernel/problem.ts'
import { findRoleTemplate } from '../objects/role-templates.ts'
import { listAccessOfGroups } from '../rights/application-access.ts'
import type { GivenRight } from '../rights/carried-rights.ts'
import { applyStaged } from './apply-staged.ts'
import type { Fault } from './find-faults.ts'
import { findImportedRights } from './find-imported-rights.ts'
import { type FirstPasswords, makeFirstPasswords, storeFirstPasswords } from './first-passwords.ts'
import { type Definition, ImportFailed, type ImportOutcome, maxFaults } from './import-result.ts'
import { watchAdministrators } from './keep-administrators.ts'
import { logImport, rememberKinds } from './log-import.ts'
import { createUpdateTables } from './match-staged.ts'
import { nothingPruned, prune, rememberSpoken } from './prune.ts'
import { type ReadLine, readCsvLines, readJsonLines } from './read-file.ts'
import type { Entry } from './read-line.ts'
import { LineError } from './split-lines.ts'
import { createStage, type Stage } from './stage.ts'

interface Import {
  readonly tenantId: string
  /** For the audit. */
  readonly fileName: string
  readonly chunks: AsyncIterable<Uint8Array>
  /** JSON lines unless said. */
  readonly format?: 'json' | 'csv'
  /** Removes what the file does not have. */
  readonly prune?: boolean
  /** New users without a first password get an invitation that ends after these hours. */
  readonly inviteHours?: number
  onProgress?(step: string, lines: number): void
  /** The rights that masking gives: an import may bring members of groups that carry rights. */
  listGivenRights?(tx: Tx, tenantId: string): Promise<readonly GivenRight[]>
  /** The principals that own masking at `/`: one that can sign in has to remain. */
  readRootOwners?(tx: Tx, tenantId: string): Promise<readonly string[]>
}

/**
 * Makes the directory what a file says, all or nothing: throws `ImportFailed` with every fault found, and the transaction
 * ends. Lines that are so already change nothing.
 */
export async function importDirectory(tx: Tx, wishes: Import): Promise<ImportOutcome> {
  const { tenantId, fileName, onProgress, listGivenRights } = wishes
  await tx`select set_config('statement_timeout', '0', true),
    set_config('idle_in_transaction_session_timeout', '0', true)`
  const checkAdministrators = await watchAdministrators(tx, tenantId, wishes.readRootOwners)
  const { stage, faults, definitions, passwords } = await readFile(tx, wishes)
  onProgress?.('checking and storing', stage.lines())
  await stage.finish()
  const lines = { ...stage.counts, definition: definitions.length }
  await createUpdateTables(tx)
  const listGiven = async () => [
    ...((await listGivenRights?.(tx, tenantId)) ?? []),
    ...(await listAccessOfGroups(tx, tenantId)),
  ]
  const applied = await applyStaged(tx, tenantId, {
    counts: lines,
    definitions,
    faults,
    listGiven,
    makePasswords: () => makeFirstPasswords(tx, passwords, wishes.inviteHours),
    rememberSpoken: () => (wishes.prune ? rememberSpoken(tx, stage.counts) : undefined),
  })
  const { hashed, invitations } = applied.passwords
  await storeFirstPasswords(tx, tenantId, hashed)
  await rememberKinds(tx, tenantId)
  const pruned = applied.spoken ? await prune(tx, tenantId, applied.spoken) : nothingPruned
  await checkAdministrators()
  const given = await findImportedRights(tx, tenantId, await listGiven())
  // Behind all that takes long or locks rows: other writes wait for the counter of revisions from here to the commit.
  await logImport(tx, tenantId, applied.unlogged)
  const later = [...applied.copied, ...pruned.changes]
  if (later.length > 0) await appendChanges(tx, tenantId, later)
  const { created, changed, unchanged } = applied
  const { removed, names: removedNames, unnamed: removedOthers, digest: removedDigest } = pruned
  const actor = { kind: 'operator', tenantId, objectId: tenantId, applicationId: tenantId }
  const after = { fileName, ...lines, changed, unchanged, removed }
  await writeAudit(tx, actor, randomUUID(), {
    action: 'import directory',
    target: '/',
    after: { ...after, ...(given.length > 0 && { givenRights: given }) },
  })
  const removals = { removed, removedNames, removedOthers, removedDigest }
  return { lines, created, changed, unchanged, ...removals, invitations }
}

interface Read {
  readonly stage: Stage
  readonly faults: readonly Fault[]
  readonly definitions: readonly Definition[]
  readonly passwords: FirstPasswords
}

async function readFile(tx: Tx, { tenantId, chunks, format, onProgress }: Import): Promise<Read> {
  const stage = await createStage(tx)
  const roles = await readRoles(tx, tenantId)
  const faults: Fault[] = []
  const definitions: Definition[] = []
  const passwords: FirstPasswords = new Map()
  let lines = 0
  const takeLine = async ({ number, read }: ReadLine) => {
    const entry = read()
    if ('definition' in entry) definitions.push({ line: number, entry })
    else await stageEntry(stage, roles, number, entry)
    if (entry.type === 'object' && entry.initialPassword !== undefined)
      passwords.set(number, entry.initialPassword)
  }
  try {
    for await (const line of format === 'csv' ? readCsvLines(chunks) : readJsonLines(chunks)) {
      if (++lines % 10_000 === 0) onProgress?.('reading', lines)
      try {
        await takeLine(line)
      } catch (error) {
        if (!(error instanceof Problem)) throw error
        faults.push({ line: line.number, reason: error.message })
        if (faults.length >= maxFaults) break
      }
    }
  } catch (error) {
    if (!(error instanceof LineError)) throw error
    faults.push({ line: error.line, reason: error.message })
  }
  if (faults.length >= maxFaults) throw new ImportFailed(faults)
  return { stage, faults, definitions, passwords }
}

/** Object ids of the directory roles, by template. */
type Roles = Map<string, string>

async function readRoles(tx: Tx, tenantId: string): Promise<Roles> {
  const rows = await tx<{ id: string; template: string }[]>`
    select id, properties ->> 'roleTemplateId' as template from directory_object
    where tenant_id = ${tenantId} and kind = 'directoryRole' and deleted_at is null`
  return new Map(rows.map(({ id, template }) => [template, id]))
}

const names = (list: readonly string[]) => (list.length === 0 ? null : `{${list.join(',')}}`)

async function stageEntry(
  stage: Stage,
  roles: Roles,
  line: number,
  entry: Exclude<Entry, { definition: unknown }>,
): Promise<void> {
  switch (entry.type) {
    case 'member':
      return stage.add('member', [line, entry.containerId, entry.memberId])
    case 'namedMember':
      return stage.add('namedMember', [line, entry.group, entry.member])
    case 'owner':
      return stage.add('owner', [line, entry.objectId, entry.ownerId])
    case 'object': {
      const { id, kind, createdDateTime, properties, custom, hasId, cleared, defaults, missing } = entry
      const texts = [
        JSON.stringify(properties),
        names(custom),
        String(hasId),
        names(cleared),
        JSON.stringify(defaults),
      ]
      return stage.add('object', [line, id, kind, createdDateTime, ...texts, missing])
    }
    case 'extension': {
      const { objectId, name, applicationId, data } = entry
      return stage.add('extension', [line, objectId, name, applicationId, JSON.stringify(data)])
    }
    case 'directoryRole':
      await activateRole(stage, roles, line, entry.roleTemplateId)
      return
    case 'roleMember': {
      const roleId = await activateRole(stage, roles, line, entry.roleTemplateId)
      return stage.add('roleMember', [line, roleId, entry.memberId])
    }
  }
}

/** A role has another id in every directory; its template is the same. */
async function activateRole(stage: Stage, roles: Roles, line: number, template: string): Promise<string> {
  const known = roles.get(template)
  if (known !== undefined) return known
  const id = randomUUID()
  roles.set(template, id)
  const { displayName = '', description = '' } = findRoleTemplate(template) ?? {}
  const properties = JSON.stringify({ displayName, description, roleTemplateId: template })
  await stage.add('object', [line, id, 'directoryRole', null, properties, null, 'true', null, '{}', null])
  return id
}
