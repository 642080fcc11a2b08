import { hasAllVariants } from './postgres.ts'

/** On PostgreSQL 15 a lock on a table keeps no grant from being changed; another grant does, on every version. */
export const block = `begin; lock table app.people in access exclusive mode; grant select (id) on app.people to public`

const bindings = [
  { kind: "a superuser's binding", isSuperuser: true, endsSessions: true },
  { kind: 'a binding that owns the tables', isSuperuser: false, endsSessions: true },
  { kind: 'a binding that may not end sessions', isSuperuser: false, endsSessions: false },
]

const mostUsual = bindings.filter(({ isSuperuser, endsSessions }) => !isSuperuser && endsSessions)

/** The roles that the service connects as, where sessions are in its way. */
export const bindingsAtHand = hasAllVariants ? bindings : mostUsual
