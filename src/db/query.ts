import type postgres from 'postgres'

/** Anything that runs a statement: the pool, or a transaction. */
// biome-ignore lint/complexity/noBannedTypes: the client's own notation for "no custom types"
export type Query = postgres.ISql<{}>
