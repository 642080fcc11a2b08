import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { openDatabase } from '../../src/db/database.ts'
import type { Query } from '../../src/db/query.ts'
import type { Service } from '../../src/main.ts'
import { ensurePortal } from '../../src/portal/build-portal.ts'
import { openService } from '../open-service.ts'
import { loadWithoutIndexes } from '../without-indexes.ts'

const chunk = 20_000
const tablesAtOnce = 500

/** How many of each are in the lists; none of them are made for 0. */
export interface Sizes {
  readonly users: number
  readonly groups: number
  readonly tables: number
}

export type Place = Awaited<ReturnType<typeof openFilled>>

/** The service with the portal, the sample shop and lists of these sizes. */
export async function openFilled(sizes: Sizes) {
  const portalFolder = await ensurePortal()
  if (portalFolder === undefined) throw new Error('the portal is not built')
  const service = await openService({ portalFolder, hasSample: true })
  if (sizes.users + sizes.groups > 0) {
    await service.database.transaction((tx) =>
      loadWithoutIndexes(tx, async () => {
        await insertUsers(tx, service.store.tenantId, sizes.users)
        await insertGroups(tx, service.store.tenantId, sizes.groups)
      }),
    )
    await service.database.sql`analyze directory_object`
  }
  await createTables(service, sizes.tables)
  process.stderr.write('\n')
  const password = (await readFile(path.join(service.dataDir, 'administrator-password'), 'utf8')).trim()
  const { id = '', userPrincipalName = '' } = service.administrator ?? {}
  return {
    origin: `http://127.0.0.1:${service.listeners.httpPort}`,
    person: { id, userPrincipalName, password },
    close: () => service.close(),
  }
}

async function insertUsers(tx: Query, tenantId: string, count: number): Promise<void> {
  for (let first = 1; first <= count; first += chunk) {
    await tx`
      insert into directory_object (tenant_id, id, kind, properties)
      select ${tenantId}, md5('user' || n)::uuid, 'user', jsonb_build_object('displayName', 'Person ' || lpad(n::text, 7, '0'),
        'userPrincipalName', 'person' || n || '@example.com', 'accountEnabled', true, 'userType', 'Member')
      from generate_series(${first}::int, ${Math.min(first + chunk - 1, count)}::int) as n`
    process.stderr.write(`\r${first + chunk - 1} of ${count} users `)
  }
}

async function insertGroups(tx: Query, tenantId: string, count: number): Promise<void> {
  await tx`
    insert into directory_object (tenant_id, id, kind, properties)
    select ${tenantId}, md5('group' || n)::uuid, 'group', jsonb_build_object('displayName', 'Team ' || lpad(n::text, 7, '0'),
      'mailEnabled', false, 'securityEnabled', true, 'groupTypes', jsonb_build_array())
    from generate_series(1, ${count}::int) as n`
}

/** Tables of the sample shop beside its own. */
async function createTables({ store }: Service, count: number): Promise<void> {
  if (!store.server) throw new Error('the service runs over an embedded database here')
  const shop = openDatabase({
    url: { ...store.server.address, database: 'shop' },
    poolSize: 1,
    searchPath: 'public',
  })
  const statements = Array.from({ length: count }, (_, n) => {
    const name = `part_${String(n + 1).padStart(7, '0')}`
    return `create table ${name} (id int, note text); alter table ${name} owner to shop_owner;`
  })
  for (let first = 0; first < count; first += tablesAtOnce) {
    await shop.sql.unsafe(statements.slice(first, first + tablesAtOnce).join('\n'))
    process.stderr.write(`\r${first + tablesAtOnce} of ${count} tables `)
  }
  await shop.close()
}
