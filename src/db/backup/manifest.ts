import type { AppliedMigration } from '../migrate.ts'
import { notABackup } from './frames.ts'
import type { BackedUpTable } from './list-tables.ts'

/** The first frame of a backup. */
export interface Manifest {
  /** Grows when an older version could not read the file. */
  readonly format: number
  /** The version of the service that made the backup. */
  readonly version: string
  readonly createdAt: string
  readonly tenantId: string
  readonly migrations: readonly AppliedMigration[]
  readonly tables: readonly BackedUpTable[]
}

/** The last frame: without it the file is not whole. */
export interface BackupEnd {
  /** Rows by table. */
  readonly rows: Readonly<Record<string, number>>
  /** Last values by sequence. */
  readonly sequences: Readonly<Record<string, string>>
}

/** A file beside the store: the secret key, certificates, settings. */
export interface BackedUpFile {
  readonly name: string
  /** Base64. */
  readonly content: string
}

export const backupFormat = 1

export function readJson<T>(payload: Buffer): T {
  try {
    return JSON.parse(payload.toString('utf8')) as T
  } catch {
    throw notABackup('a frame is not JSON')
  }
}
