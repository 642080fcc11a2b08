import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import pg from 'pg'
import type { ClusterName } from './cluster.ts'
import { createMaskedDatabase } from './masked-database.ts'
import { freshDatabase, useMasking } from './masking.ts'

/** A bound database with two masked tables, and its gateway. `analyst` is masked, `auditor` exempt. */
export function useGateway(environment: NodeJS.ProcessEnv = {}, cluster?: ClusterName) {
  const masking = useMasking({ MASQUERADE_AUDIT_SECONDS: '3600', ...environment })
  const db = freshDatabase()
  const name = db.replace(/^.*\//, '')
  let target: Awaited<ReturnType<typeof createMaskedDatabase>> | undefined
  const opened: pg.Client[] = []
  const masked = () => {
    if (!target) throw new Error('the database is not there yet')
    return target
  }
  before(async () => {
    target = await createMaskedDatabase(cluster)
    const analyst = await target.createRole('analyst')
    const auditor = await target.createRole('auditor')
    await target.database.sql.unsafe(tables)
    await target.database.sql.unsafe(`
      grant usage on schema public, sales to public; grant create on schema public to "${analyst}";
      grant select on all tables in schema public, sales to "${analyst}", "${auditor}";
      grant insert, update, delete on public.customers to "${analyst}";
      grant usage on sequence public.notes_id_seq to "${analyst}"; grant insert on public.notes to "${analyst}"`)
    const { hostname, port, username, password, pathname } = new URL(target.url)
    const binding = {
      host: hostname,
      port: Number(port),
      database: pathname.slice(1),
      user: username,
      password: decodeURIComponent(password),
    }
    await masking.send('PUT', db.replace(/\/databases\/.*/, ''), {})
    const bound = await masking.send('PUT', db, { properties: { binding } })
    assert.equal(bound.status, 201, bound.text)
    await masking.putPolicy(db, { dataMaskingState: 'Enabled', exemptPrincipals: auditor })
    for (const [tableName, columnName, schemaName] of rules) {
      const rule = { schemaName, tableName, columnName, maskingFunction: 'Email' }
      const put = await masking.putRule(db, `${tableName}-${columnName}`, rule)
      assert.equal(put.status, 201, put.text)
      assert.equal(put.headers.get('x-masquerade-enforcement'), 'Enforced', put.text)
    }
  })
  after(async () => {
    for (const client of opened) await client.end().catch(() => {})
    await target?.[Symbol.asyncDispose]()
  })

  return {
    masking,
    db,
    name,
    masked,
    port: () => masking.service().gateway.port,
    /** Connects through the gateway as that role. */
    async connect(role: string, options: pg.ClientConfig = {}): Promise<pg.Client> {
      const client = new pg.Client({
        host: '127.0.0.1',
        port: masking.service().gateway.port,
        user: masked().role(role),
        password: 'secret',
        database: name,
        ...options,
      })
      client.on('error', () => {})
      opened.push(client)
      await client.connect()
      return client
    },
  }
}

const rules = [
  ['customers', 'email', 'public'],
  ['Kunden Döner', 'e-mail', 'sales'],
] as const

const tables = `
  create schema sales;
  create table public.customers (id int primary key, name text, email text, born date);
  insert into public.customers values (1, 'ann', 'ann@example.com', '2000-01-02'), (2, 'bob', 'bob@example.com', null);
  create table public.notes (id serial primary key, body text);
  create table sales."Kunden Döner" (id int, "e-mail" text);
  insert into sales."Kunden Döner" values (1, 'zoe@example.com');
  create view public.adults as select id, email from public.customers where born < '2008-01-01';`
