/** Functions that drivers call by message and that read and write large objects alone, by their ids in every PostgreSQL. */
export const largeObjectFunctions: ReadonlySet<number> = new Set([
  715, // lo_create
  952, // lo_open
  953, // lo_close
  954, // loread
  955, // lowrite
  956, // lo_lseek
  957, // lo_creat
  958, // lo_tell
  964, // lo_unlink
  1004, // lo_truncate
  3170, // lo_lseek64
  3171, // lo_tell64
  3172, // lo_truncate64
])
