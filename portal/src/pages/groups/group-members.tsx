import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { UserPlus, UsersRound } from 'lucide-react'
import { useState } from 'react'
import { type Group, kindOf, type Named, relationPath, useDirectoryList } from '../../api/directory.ts'
import { type Change, ChangeDrawer } from '../../change/change-drawer.tsx'
import { AddRelated } from '../../directory/add-related.tsx'
import { ObjectTable } from '../../directory/member-table.tsx'
import { type Relation, removeRelated } from '../../directory/related-objects.tsx'
import { t } from '../../texts/index.ts'
import { Button } from '../../ui/button.tsx'
import { Segments } from '../../ui/field.tsx'

export function GroupMembers({ group, mayChange }: { readonly group: Group; readonly mayChange: boolean }) {
  const { show = 'direct' } = useSearch({ from: '/groups/$id' })
  const navigate = useNavigate({ from: '/groups/$id' })
  const [change, setChange] = useState<Change>()
  const [isAdding, setAdding] = useState(false)
  const relation: Relation = { set: 'groups', object: group, name: 'members' }
  const isAll = show === 'all'
  const list = useDirectoryList<Named>(
    relationPath(`/groups/${group.id}/${isAll ? 'transitiveMembers' : 'members'}`),
  )
  const explain = (object: Named) =>
    kindOf(object) === 'user' && (
      <Link to="/why" search={{ person: object.id, group: group.id }} className="button ghost small">
        {t.groups.why}
      </Link>
    )
  const remove = (object: Named) => (
    <Button tone="ghost" size="small" onClick={() => setChange(removeRelated(relation, object))}>
      {t.directory.remove}
    </Button>
  )
  return (
    <div className="stack">
      <div className="line spread">
        <Segments
          label={t.groups.members}
          value={isAll ? 'all' : 'direct'}
          onChange={(next) => void navigate({ search: { tab: 'members', show: next }, replace: true })}
          choices={[
            { value: 'direct', label: t.groups.direct },
            { value: 'all', label: t.groups.all },
          ]}
        />
        {mayChange && (
          <Button onClick={() => setAdding(true)}>
            <UserPlus size={14} aria-hidden />
            {t.groups.addMembers}
          </Button>
        )}
      </div>
      <ObjectTable
        label={t.groups.members}
        list={list}
        action={isAll ? explain : mayChange ? remove : undefined}
        empty={{ icon: UsersRound, title: t.groups.membersEmpty, hint: t.groups.membersEmptyHint }}
      />
      <ChangeDrawer change={change} onClose={() => setChange(undefined)} />
      <AddRelated relation={relation} isOpen={isAdding} onClose={() => setAdding(false)} />
    </div>
  )
}
