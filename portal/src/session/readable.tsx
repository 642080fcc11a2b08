import { Lock } from 'lucide-react'
import type { ReactNode } from 'react'
import { t } from '../texts/index.ts'
import { Empty } from '../ui/states.tsx'
import { useHas } from './person.tsx'

/** Permissions of the portal's token that let the person read an area of the directory; one is enough. */
const permissions = {
  directory: ['Directory.Read.All', 'Directory.ReadWrite.All'],
  logs: ['AuditLog.Read.All'],
} as const

export type ReadableArea = keyof typeof permissions

export function useReads(area: ReadableArea): boolean {
  return useHas(...permissions[area])
}

/** Shows an area to people who may read it, and tells others which role would help: the service is not even asked. */
export function Readable({ area, children }: { readonly area: ReadableArea; readonly children: ReactNode }) {
  if (useReads(area)) return children
  return (
    <div className="card">
      <Empty icon={Lock} title={t.states.forbiddenTitle}>
        {t.directory.readingNeeds[area]}
      </Empty>
    </div>
  )
}
