import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { UsersRound } from 'lucide-react'
import {
  containerFields,
  kindOf,
  type Named,
  relationPath,
  type User,
  useDirectoryList,
} from '../../api/directory.ts'
import { ObjectTable } from '../../directory/member-table.tsx'
import { t } from '../../texts/index.ts'
import { Segments } from '../../ui/field.tsx'

export function PersonGroups({ user }: { readonly user: User }) {
  const { show = 'direct' } = useSearch({ from: '/people/$id' })
  const navigate = useNavigate({ from: '/people/$id' })
  const isAll = show === 'all'
  const list = useDirectoryList<Named>(
    relationPath(`/users/${user.id}/${isAll ? 'transitiveMemberOf' : 'memberOf'}`, containerFields),
  )
  const explain = (object: Named) =>
    kindOf(object) === 'group' && (
      <Link to="/why" search={{ person: user.id, group: object.id }} className="button ghost small">
        {t.persons.why}
      </Link>
    )
  return (
    <div className="stack">
      <div>
        <Segments
          label={t.persons.groups}
          value={isAll ? 'all' : 'direct'}
          onChange={(next) => void navigate({ search: { tab: 'groups', show: next }, replace: true })}
          choices={[
            { value: 'direct', label: t.persons.direct },
            { value: 'all', label: t.persons.all },
          ]}
        />
      </div>
      <ObjectTable
        label={t.persons.groups}
        list={list}
        action={explain}
        empty={{ icon: UsersRound, title: t.persons.groupsEmpty, hint: t.persons.groupsEmptyHint }}
      />
    </div>
  )
}
