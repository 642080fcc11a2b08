import type { TestEnd } from './file-results.ts'

/** From the runner to a shard. No file: there are no more, and the shard ends by itself. */
export interface ShardOrder {
  readonly file: string | undefined
}

export type ShardMessage =
  | { readonly kind: 'testEnd'; readonly end: TestEnd }
  /** After the end of a file. An exit code tells of an error that belongs to no test. */
  | { readonly kind: 'fileEnd'; readonly exitCode: number | undefined }
  /** An error that came up after the test that caused it had ended. */
  | { readonly kind: 'strayError'; readonly text: string }
  /** A figure that a test tells, such as the number of answers that it checked. */
  | { readonly kind: 'note'; readonly text: string }

/** From a shard to the runner, unless the runner has gone meanwhile. */
export function send(message: ShardMessage): void {
  if (process.connected) process.send?.(message)
}
