import { readFile } from 'node:fs/promises'
import type { Database } from '../../db/database.ts'
import { importDirectory } from '../transfer/import-directory.ts'

const file = new URL('company.jsonl', import.meta.url)

/**
 * Creates a small made-up ferry company for a first look at the service, in a directory that has nothing but its
 * organization: objects that a caller deleted do not come back.
 */
export async function createSample(database: Database, tenantId: string, domain: string): Promise<boolean> {
  const text = (await readFile(file, 'utf8')).replaceAll('{domain}', domain)
  async function* chunks() {
    yield Buffer.from(text)
  }
  return await database.transaction(async (tx) => {
    const used = await tx`
      select from directory_object where tenant_id = ${tenantId} and kind <> 'organization' limit 1`
    if (used.length > 0) return false
    await importDirectory(tx, { tenantId, fileName: 'sample', chunks: chunks() })
    return true
  })
}
