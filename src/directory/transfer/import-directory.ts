import { randomUUID } from 'node:crypto'
import { writeAudit } from '../../db/audit.ts'
import type { Tx } from '../../db/database.ts'
import { Problem } from '../../kernel/problem.ts'
import { findRoleTemplate } from '../objects/role-templates.ts'
import type { GivenRight } from '../rights/carried-rights.ts'
import { applyStaged } from './apply-staged.ts'
import type { Fault } from './find-faults.ts'
import { findImportedRights } from './find-imported-rights.ts'
import { type Definition, type ImportCounts, ImportFailed, maxFaults } from './import-result.ts'
import { type Entry, readEntry } from './read-line.ts'
import { LineError, splitLines } from './split-lines.ts'
import { createStage, type Stage } from './stage.ts'

interface Import {
  readonly tenantId: string
  /** For the audit. */
  readonly fileName: string
  readonly chunks: AsyncIterable<Uint8Array>
  onProgress?(step: string, lines: number): void
  /** The rights that masking gives, for the audit: an import may bring members of groups that carry rights. */
  listGivenRights?(tx: Tx, tenantId: string): Promise<readonly GivenRight[]>
}

/** Imports JSON lines, all or nothing: throws `ImportFailed` with every fault found, and the transaction ends. */
export async function importDirectory(
  tx: Tx,
  { tenantId, fileName, chunks, onProgress, listGivenRights }: Import,
): Promise<ImportCounts> {
  await tx`select set_config('statement_timeout', '0', true),
    set_config('idle_in_transaction_session_timeout', '0', true)`
  const stage = await createStage(tx)
  const roles = await readRoles(tx, tenantId)
  const faults: Fault[] = []
  const definitions: Definition[] = []
  let lines = 0
  try {
    for await (const { number, text } of splitLines(chunks)) {
      if (++lines % 10_000 === 0) onProgress?.('reading', lines)
      try {
        const entry = readEntry(text)
        if ('definition' in entry) definitions.push({ line: number, entry })
        else await stageEntry(stage, roles, number, entry)
      } catch (error) {
        if (!(error instanceof Problem)) throw error
        faults.push({ line: number, reason: error.message })
        if (faults.length >= maxFaults) break
      }
    }
  } catch (error) {
    if (!(error instanceof LineError)) throw error
    faults.push({ line: error.line, reason: error.message })
  }
  if (faults.length >= maxFaults) throw new ImportFailed(faults)
  onProgress?.('checking and storing', lines)
  await stage.finish()
  const counts = { ...stage.counts, definition: definitions.length }
  await applyStaged(tx, tenantId, { counts, definitions, faults })
  const given = await findImportedRights(tx, tenantId, (await listGivenRights?.(tx, tenantId)) ?? [])
  const actor = { kind: 'operator', tenantId, objectId: tenantId, applicationId: tenantId }
  await writeAudit(tx, actor, randomUUID(), {
    action: 'import directory',
    target: '/',
    after: { fileName, ...counts, ...(given.length > 0 && { givenRights: given }) },
  })
  return counts
}

/** Object ids of the directory roles, by template. */
type Roles = Map<string, string>

async function readRoles(tx: Tx, tenantId: string): Promise<Roles> {
  const rows = await tx<{ id: string; template: string }[]>`
    select id, properties ->> 'roleTemplateId' as template from directory_object
    where tenant_id = ${tenantId} and kind = 'directoryRole' and deleted_at is null`
  return new Map(rows.map(({ id, template }) => [template, id]))
}

async function stageEntry(
  stage: Stage,
  roles: Roles,
  line: number,
  entry: Exclude<Entry, { definition: unknown }>,
): Promise<void> {
  switch (entry.type) {
    case 'member':
      return stage.add('member', [line, entry.containerId, entry.memberId])
    case 'owner':
      return stage.add('owner', [line, entry.objectId, entry.ownerId])
    case 'object': {
      const { id, kind, createdDateTime, properties, custom } = entry
      const names = custom.length === 0 ? null : `{${custom.join(',')}}`
      return stage.add('object', [line, id, kind, createdDateTime, JSON.stringify(properties), names])
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
  await stage.add('object', [line, id, 'directoryRole', null, properties, null])
  return id
}
