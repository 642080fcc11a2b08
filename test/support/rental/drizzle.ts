import { relations } from 'drizzle-orm'
import {
  boolean,
  date,
  integer,
  jsonb,
  numeric,
  pgTable,
  pgView,
  primaryKey,
  text,
  timestamp,
  uuid,
  varchar,
} from 'drizzle-orm/pg-core'

/** The film rental as an application that uses Drizzle declares it; it knows nothing of masks. */
export const address = pgTable('address', {
  id: integer().primaryKey(),
  street: text().notNull(),
  cityId: integer('city_id').notNull(),
  phone: varchar({ length: 20 }),
})

export const customer = pgTable('customer', {
  id: integer().primaryKey().generatedByDefaultAsIdentity(),
  storeId: integer('store_id').notNull(),
  firstName: varchar('first_name', { length: 45 }).notNull(),
  lastName: varchar('last_name', { length: 45 }).notNull(),
  email: varchar({ length: 80 }),
  card: varchar({ length: 19 }),
  born: date(),
  tags: text().array(),
  preferences: jsonb().$type<{ secret?: string }>(),
  externalId: uuid('external_id'),
  addressId: integer('address_id').notNull(),
  active: boolean().notNull().default(true),
})

export const payment = pgTable(
  'payment',
  {
    id: integer().notNull(),
    customerId: integer('customer_id').notNull(),
    amount: numeric({ precision: 6, scale: 2 }).notNull(),
    card: varchar({ length: 19 }),
    paid: timestamp({ mode: 'string' }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.paid, table.id] })],
)

export const ledger = pgTable('ledger', {
  id: integer().primaryKey().generatedByDefaultAsIdentity(),
  customerId: integer('customer_id'),
  note: text(),
  amount: numeric({ precision: 8, scale: 2 }),
})

export const customerList = pgView('customer_list', {
  id: integer(),
  name: text(),
  phone: varchar({ length: 20 }),
  city: text(),
}).existing()

export const customerRelations = relations(customer, ({ one, many }) => ({
  address: one(address, { fields: [customer.addressId], references: [address.id] }),
  payments: many(payment),
}))

export const paymentRelations = relations(payment, ({ one }) => ({
  customer: one(customer, { fields: [payment.customerId], references: [customer.id] }),
}))
