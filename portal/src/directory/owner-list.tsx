import { UserCog } from 'lucide-react'
import { useState } from 'react'
import { type Named, ownerFields, relationPath, useDirectoryList } from '../api/directory.ts'
import { type Change, ChangeDrawer } from '../change/change-drawer.tsx'
import { t } from '../texts/index.ts'
import { Button } from '../ui/button.tsx'
import { AddRelated } from './add-related.tsx'
import { ObjectTable } from './member-table.tsx'
import { type Relation, removeRelated } from './related-objects.tsx'

/** The owners of a group or application. */
export function OwnerList({
  set,
  object,
  hint,
  mayChange,
}: {
  readonly set: Relation['set']
  readonly object: Named
  /** A sentence on the rights of owners, for the list without any. */
  readonly hint: string
  readonly mayChange: boolean
}) {
  const [change, setChange] = useState<Change>()
  const [isAdding, setAdding] = useState(false)
  const relation: Relation = { set, object, name: 'owners' }
  const list = useDirectoryList<Named>(relationPath(`/${set}/${object.id}/owners`, ownerFields))
  const remove = (owner: Named) => (
    <Button tone="ghost" size="small" onClick={() => setChange(removeRelated(relation, owner))}>
      {t.directory.remove}
    </Button>
  )
  return (
    <div className="stack">
      {mayChange && (
        <div>
          <Button onClick={() => setAdding(true)}>
            <UserCog size={14} aria-hidden />
            {t.groups.addOwners}
          </Button>
        </div>
      )}
      <ObjectTable
        label={t.groups.owners}
        list={list}
        action={mayChange ? remove : undefined}
        empty={{ icon: UserCog, title: t.groups.ownersEmpty, hint }}
      />
      <ChangeDrawer change={change} onClose={() => setChange(undefined)} />
      <AddRelated relation={relation} isOpen={isAdding} onClose={() => setAdding(false)} />
    </div>
  )
}
