import { Puzzle } from 'lucide-react'
import type { Schema } from '../../api/described.ts'
import { directoryPath, type User, useDirectoryList } from '../../api/directory.ts'
import { t } from '../../texts/index.ts'
import { CodeBlock } from '../../ui/copy.tsx'
import { Card } from '../../ui/page.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'

type Extension = Schema<'openTypeExtension'>

export function PersonExtensions({ user }: { readonly user: User }) {
  const { query } = useDirectoryList<Extension>(directoryPath(`/users/${user.id}/extensions`, {}))
  return (
    <Loaded query={query}>
      {(rows) =>
        rows.length === 0 ? (
          <div className="card">
            <Empty icon={Puzzle} title={t.persons.extensionsEmpty}>
              {t.persons.extensionsEmptyHint}
            </Empty>
          </div>
        ) : (
          rows.map((extension) => (
            <Card key={extension.id} title={extension.extensionName ?? extension.id}>
              <CodeBlock label={extension.extensionName ?? extension.id} text={showValues(extension)} />
            </Card>
          ))
        )
      }
    </Loaded>
  )
}

function showValues(extension: Extension): string {
  const own = Object.entries(extension).filter(([name]) => !name.includes('@odata') && name !== 'id')
  return JSON.stringify(Object.fromEntries(own), null, 2)
}
