import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openDatabase } from '../db/database.ts'
import type { DatabaseAddress } from '../db/database-url.ts'
import { writePrivateFile } from '../db/private-file.ts'
import { quoteIdentifier, quoteLiteral } from '../db/quote.ts'

const script = new URL('./shop.sql', import.meta.url)

/** How to get into the sample database; kept in the data directory, for its owner alone. */
export interface ShopAccess {
  readonly host: string
  readonly port: number
  readonly database: string
  readonly analyst: string
  readonly auditor: string
}

export const shopFile = 'shop.json'

/** From the database's own name to the subscription's. */
export const shopNames = ['shop', 'embedded', 'demo', 'demo'] as const

const database = 'shop'
const path = '/subscriptions/demo/resourceGroups/demo/providers/Vendor.Sql/servers/embedded/databases/shop'
const version = 'api-version=2014-04-01'

const rules: Readonly<Record<string, object>> = {
  'customer-email': { tableName: 'customers', columnName: 'email', maskingFunction: 'Email' },
  'customer-phone': { tableName: 'customers', columnName: 'phone', maskingFunction: 'Text', suffixSize: '2' },
  'customer-birth-date': { tableName: 'customers', columnName: 'birth_date', maskingFunction: 'Default' },
  'customer-ssn': { tableName: 'customers', columnName: 'ssn', maskingFunction: 'SSN' },
  'card-number': { tableName: 'cards', columnName: 'number', maskingFunction: 'CCN' },
  'staff-salary': {
    tableName: 'staff',
    columnName: 'salary',
    maskingFunction: 'Number',
    numberFrom: '30000',
    numberTo: '80000',
  },
}

/** Groups of the sample company, whose people get in with a token. The second one is exempt. */
const readers = {
  analysts: '20000000-0000-4000-8000-000000000010',
  exempt: '20000000-0000-4000-8000-000000000011',
} as const

/** People of the sample company: Noor sees masks, Maren is exempt. */
export const sampleReaders = [
  '10000000-0000-4000-8000-000000000016',
  '10000000-0000-4000-8000-000000000001',
] as const

interface Options {
  /** A superuser of the embedded server. */
  readonly address: DatabaseAddress
  readonly host: string
  readonly port: number
  readonly dataDir: string
  /** Sees raw values beside masked ones in the sample alone: the first look at the portal shows both. */
  readonly administratorId: string | undefined
  /** A call of our own API, as the administrator: the sample is made the way a user would make it. */
  call(method: string, path: string, body: unknown): Promise<void>
}

/**
 * The sample database: a shop with an owner, an analyst who sees masks, an auditor who does not, and a role for people
 * of the sample company.
 */
export async function bringShop({
  address,
  host,
  port,
  dataDir,
  administratorId,
  call,
}: Options): Promise<void> {
  const password = { owner: secret(), analyst: secret(), auditor: secret() }
  await createDatabase(address, password)
  await fillDatabase({ ...address, database })
  const binding = { host, port, database, user: 'shop_owner', password: password.owner }
  await call('PUT', `${path.replace(/\/databases\/.*/, '')}?${version}`, { tags: { sample: 'yes' } })
  await call('PUT', `${path}?${version}`, { properties: { binding } })
  for (const [name, rule] of Object.entries(rules)) {
    const properties = { schemaName: 'public', ...rule }
    await call('PUT', `${path}/dataMaskingPolicies/Default/rules/${name}?${version}`, { properties })
  }
  for (const [name, principalId] of Object.entries(readers)) {
    const properties = { databaseRole: 'readers', principalId }
    await call('PUT', `${path}/roleMappings/${name}?${version}`, { properties })
  }
  // The superuser of the server sees raw values whatever the policy says: the sample says so too.
  const exempt = ['auditor', address.user, readers.exempt, administratorId].filter(Boolean).join(';')
  const policy = { dataMaskingState: 'Enabled', exemptPrincipals: exempt }
  await call('PUT', `${path}/dataMaskingPolicies/Default?${version}`, { properties: policy })
  const access: ShopAccess = { host, port, database, analyst: password.analyst, auditor: password.auditor }
  writeShopAccess(dataDir, access)
}

export function writeShopAccess(dataDir: string, access: ShopAccess): void {
  writePrivateFile(join(dataDir, shopFile), `${JSON.stringify(access, null, 2)}\n`)
}

export function readShopAccess(dataDir: string): ShopAccess | null {
  try {
    return JSON.parse(readFileSync(join(dataDir, shopFile), 'utf8')) as ShopAccess
  } catch {
    return null
  }
}

function secret(): string {
  return randomBytes(12).toString('base64url')
}

/** Drops the rest of a creation that crashed: nothing in it is in use yet. */
async function createDatabase(
  address: DatabaseAddress,
  password: Record<'owner' | 'analyst' | 'auditor', string>,
) {
  const { sql, close } = openDatabase({ url: address, poolSize: 1 })
  try {
    await sql.unsafe(`drop database if exists ${database} with (force)`)
    const roles = { shop_owner: password.owner, analyst: password.analyst, auditor: password.auditor }
    for (const [name, text] of Object.entries(roles)) {
      const options = name === 'shop_owner' ? 'login createrole' : 'login'
      await sql.unsafe(`drop role if exists ${quoteIdentifier(name)}`)
      await sql.unsafe(`create role ${quoteIdentifier(name)} ${options} password ${quoteLiteral(text)}`)
    }
    await sql.unsafe('drop role if exists readers')
    await sql.unsafe('create role readers')
    await sql.unsafe('grant readers to shop_owner with admin true, inherit false, set false')
    // The owner ends the sessions of principals that are no longer exempt, which takes this role.
    await sql.unsafe('grant pg_signal_backend to shop_owner')
    await sql.unsafe(`create database ${database} owner shop_owner`)
    // Unqualified names find the twins first. For convenience: privileges are the wall.
    await sql.unsafe(`alter role analyst in database ${database} set search_path = masked_public, public`)
  } finally {
    await close()
  }
}

async function fillDatabase(address: DatabaseAddress): Promise<void> {
  const { transaction, close } = openDatabase({ url: address, poolSize: 1, searchPath: 'public' })
  try {
    await transaction(async (tx) => {
      await tx.unsafe('alter schema public owner to shop_owner; set local role shop_owner')
      await tx.unsafe(readFileSync(script, 'utf8'))
      await tx.unsafe('grant usage on schema public to analyst, auditor, readers')
      await tx.unsafe('grant select on all tables in schema public to analyst, auditor, readers')
      await tx.unsafe('reset role')
    })
  } finally {
    await close()
  }
}
