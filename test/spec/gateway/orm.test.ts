import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe } from 'node:test'
import { and, asc, count, desc, eq, gt, like, lt, max, sql } from 'drizzle-orm'
import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres'
import { migrate } from 'drizzle-orm/node-postgres/migrator'
import { union } from 'drizzle-orm/pg-core'
import { drizzle as drizzleOverPostgres } from 'drizzle-orm/postgres-js'
import pg from 'pg'
import postgres from 'postgres'
import { clause } from '../../support/clause.ts'
import * as schema from '../../support/rental/drizzle.ts'
import { openRental, type Rental } from '../../support/rental/open.ts'
import { traces } from '../../support/rental/schema.ts'

const { address, customer, customerList, ledger, payment } = schema
const mail = 'sXXX@XXXX.com'

describe('an ORM', () => {
  let rental: Rental
  let pool: pg.Pool
  let db: NodePgDatabase<typeof schema>
  before(async () => {
    rental = await openRental()
    const { sql: admin } = rental.target.database
    await admin.unsafe(`grant create on database "${rental.database}" to "${rental.clerk}";
      grant create on schema public to "${rental.clerk}"`)
    pool = new pg.Pool({ connectionString: rental.url, max: 3 })
    db = drizzle(pool, { schema })
  })
  after(async () => {
    await pool?.end()
    await rental?.[Symbol.asyncDispose]()
  })

  /** PostgreSQL's own word; Drizzle wraps it. */
  const isDenied = (error: Error) => (error.cause as { code?: string } | undefined)?.code === '42501'

  clause(
    'GATE-57',
    'An application with an object-relational mapper (Drizzle, over `pg` and over `postgres`) runs unchanged: selects with…',
    async (t) => {
      await t.test('selects, joins, groups and views', async () => {
        const rows = await db.select().from(customer).where(lt(customer.id, 4)).orderBy(asc(customer.id))
        assert.deepEqual(
          rows.map(({ id, email, born, tags, preferences }) => ({ id, email, born, tags, preferences })),
          [1, 2, 3].map((id) => ({ id, email: mail, born: '1900-01-01', tags: [], preferences: {} })),
        )
        const joined = await db
          .select({
            who: customer.lastName,
            phone: address.phone,
            paid: count(payment.id),
            card: max(payment.card),
          })
          .from(customer)
          .innerJoin(address, eq(address.id, customer.addressId))
          .leftJoin(payment, and(eq(payment.customerId, customer.id), gt(payment.amount, '5')))
          .groupBy(customer.id, address.id)
          .orderBy(desc(count(payment.id)), asc(customer.id))
          .limit(20)
        assert.equal(joined.length, 20)
        assert.ok(joined.every(({ who }) => /^.\*\*\*$/.test(who)))
        assert.doesNotMatch(JSON.stringify(joined), traces)
        const listed = await db.select().from(customerList).where(eq(customerList.id, 7))
        assert.match(JSON.stringify(listed), /"name":"\w+ .\*\*\*","phone":"\+49…\d\d"/)
        assert.equal(await db.$count(customer, like(customer.email, 'secret%')), 0)
        assert.equal(await db.$count(customer, eq(customer.email, mail)), 300 - 23)
      })

      await t.test('relations, common tables, subqueries and unions', async () => {
        const found = await db.query.customer.findMany({
          where: lt(customer.id, 6),
          orderBy: asc(customer.id),
          with: {
            address: true,
            payments: { limit: 2, orderBy: desc(payment.paid), with: { customer: true } },
          },
        })
        assert.equal(found.length, 5)
        assert.doesNotMatch(JSON.stringify(found), traces)
        assert.equal(found[0]?.payments[0]?.customer?.email, mail)
        assert.match(found[0]?.payments[0]?.card ?? '', /^XXXX-XXXX-XXXX-\d{4}$/)
        const busy = db
          .$with('customer')
          .as(db.select({ id: customer.id, email: customer.email }).from(customer))
        const [row] = await db.with(busy).select().from(busy).where(eq(busy.id, 9))
        assert.deepEqual(row, { id: 9, email: mail })
        const cards = await union(
          db.select({ card: customer.card }).from(customer),
          db.select({ card: payment.card }).from(payment),
        )
        assert.ok(cards.length > 100)
        assert.doesNotMatch(JSON.stringify(cards), traces)
      })

      await t.test('writes, with what they return', async () => {
        const [inserted] = await db
          .insert(ledger)
          .values({ customerId: 1, note: 'one', amount: '1.50' })
          .returning()
        assert.deepEqual(inserted, { id: inserted?.id, customerId: 1, note: 'one', amount: '1.50' })
        const id = inserted?.id ?? 0
        const [updated] = await db
          .update(ledger)
          .set({ note: sql`(select ${customer.email} from ${customer} where ${customer.id} = 1)` })
          .where(eq(ledger.id, id))
          .returning({ note: ledger.note })
        assert.equal(updated?.note, mail)
        const [merged] = await db
          .insert(ledger)
          .values({ id, note: 'two' })
          .onConflictDoUpdate({ target: ledger.id, set: { note: sql`excluded.note` } })
          .returning({ note: ledger.note })
        assert.equal(merged?.note, 'two')
        assert.equal((await db.delete(ledger).where(eq(ledger.id, id)).returning()).length, 1)
        const person = {
          id: 801,
          storeId: 1,
          firstName: 'New',
          lastName: 'One',
          email: 'new@mail.example',
          addressId: 1,
        }
        assert.deepEqual(await db.insert(customer).values(person).returning({ id: customer.id }), [
          { id: 801 },
        ])
        await db.update(customer).set({ email: 'other@mail.example' }).where(eq(customer.id, 801))
        const [raw] = await rental.target.database.sql`select email from public.customer where id = 801`
        assert.equal(raw?.email, 'other@mail.example')
        await assert.rejects(db.delete(customer).where(eq(customer.id, 801)).returning(), isDenied)
        await assert.rejects(db.delete(customer).where(eq(customer.email, 'other@mail.example')), isDenied)
        await db.delete(customer).where(eq(customer.id, 801))
      })

      await t.test('transactions, savepoints and statements that are prepared once', async () => {
        await assert.rejects(
          db.transaction(async (tx) => {
            await tx.insert(ledger).values({ id: 700, note: 'gone' })
            throw new Error('no')
          }),
          /no/,
        )
        await db.transaction(
          async (tx) => {
            await tx.insert(ledger).values({ id: 701, note: 'kept' })
            await assert.rejects(
              tx.transaction((inner) => inner.delete(customer).where(eq(customer.card, 'x'))),
              isDenied,
            )
            const [row] = await tx.select().from(customer).where(eq(customer.id, 2))
            assert.equal(row?.email, mail)
          },
          { isolationLevel: 'repeatable read' },
        )
        assert.deepEqual(await db.select({ id: ledger.id }).from(ledger).where(gt(ledger.id, 699)), [
          { id: 701 },
        ])
        const prepared = db
          .select({ id: customer.id, email: customer.email })
          .from(customer)
          .where(eq(customer.id, sql.placeholder('id')))
          .prepare('customer_by_id')
        for (const id of [1, 2, 3, 1]) assert.deepEqual(await prepared.execute({ id }), [{ id, email: mail }])
      })

      await t.test('migrations', async () => {
        const folder = await mkdtemp(join(tmpdir(), 'masquerade-migrations-'))
        await mkdir(join(folder, 'meta'))
        const entries = ['0000_first', '0001_second'].map((tag, idx) => ({
          idx,
          version: '7',
          when: idx + 1,
          tag,
          breakpoints: true,
        }))
        await writeFile(
          join(folder, 'meta/_journal.json'),
          JSON.stringify({ version: '7', dialect: 'postgresql', entries }),
        )
        await writeFile(
          join(folder, '0000_first.sql'),
          'CREATE TABLE "public"."visit" ("id" serial PRIMARY KEY, "customer_id" integer);--> statement-breakpoint\nCREATE INDEX ON "visit" ("customer_id");',
        )
        await writeFile(
          join(folder, '0001_second.sql'),
          `ALTER TABLE "visit" ADD COLUMN "mail" text;--> statement-breakpoint
           INSERT INTO "visit" ("customer_id", "mail") SELECT "id", "email" FROM "public"."customer" WHERE "id" < 5;--> statement-breakpoint
           CREATE VIEW "visitors" AS SELECT v."id", c."email" FROM "visit" v JOIN "customer" c ON c."id" = v."customer_id";`,
        )
        for (let round = 0; round < 2; round++) await migrate(db, { migrationsFolder: folder })
        await rm(folder, { recursive: true })
        const visits = (await db.execute(sql`select mail from visit`)).rows
        assert.deepEqual(
          visits,
          Array.from({ length: 4 }, () => ({ mail })),
        )
        const visitors = (await db.execute(sql`select email from visitors`)).rows
        assert.deepEqual(
          visitors,
          Array.from({ length: 4 }, () => ({ email: mail })),
        )
      })

      await t.test('over the other driver, many at a time', async () => {
        const client = postgres(rental.url, { max: 2 })
        const other = drizzleOverPostgres(client, { schema })
        const all = await Promise.all(
          Array.from({ length: 60 }, (_, at) =>
            other.query.customer.findFirst({
              where: eq(customer.id, at + 1),
              with: { address: true, payments: true },
            }),
          ),
        )
        assert.deepEqual(
          all.map((one) => one?.id),
          all.map((_, at) => at + 1),
        )
        assert.doesNotMatch(JSON.stringify(all), traces)
        await client.end()
      })
    },
  )
})
