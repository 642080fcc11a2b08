import { UserCog } from 'lucide-react'
import { useState } from 'react'
import { type Group, type Named, ownerFields, relationPath, useDirectoryList } from '../../api/directory.ts'
import { type Change, ChangeDrawer } from '../../change/change-drawer.tsx'
import { ObjectTable } from '../../directory/member-table.tsx'
import { t } from '../../texts/index.ts'
import { Button } from '../../ui/button.tsx'
import { AddToGroup } from './add-to-group.tsx'
import { removeFromGroup } from './group-changes.tsx'

export function GroupOwners({ group, mayChange }: { readonly group: Group; readonly mayChange: boolean }) {
  const [change, setChange] = useState<Change>()
  const [isAdding, setAdding] = useState(false)
  const list = useDirectoryList<Named>(relationPath(`/groups/${group.id}/owners`, ownerFields))
  const remove = (object: Named) => (
    <Button tone="ghost" size="small" onClick={() => setChange(removeFromGroup(group, 'owners', object))}>
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
        empty={{ icon: UserCog, title: t.groups.ownersEmpty, hint: t.groups.ownersEmptyHint }}
      />
      <ChangeDrawer change={change} onClose={() => setChange(undefined)} />
      <AddToGroup group={group} relation="owners" isOpen={isAdding} onClose={() => setAdding(false)} />
    </div>
  )
}
