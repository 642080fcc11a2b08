import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ShieldOff } from 'lucide-react'
import type { Schema } from '../api/described.ts'
import { directoryPath, type Listed, objectQuery } from '../api/directory.ts'
import { t } from '../texts/index.ts'
import { Badge, type Tone } from '../ui/badge.tsx'
import { type Column, DataTable } from '../ui/data-table.tsx'
import { Empty, Loaded } from '../ui/states.tsx'
import { PrincipalLink } from './object-link.tsx'
import { ScopeLink } from './scope-link.tsx'

export type CarriedRight = Schema<'carriedRight'>

/** The words for a type of right; a type without words is shown as it is. */
export const rightNames: Readonly<Record<string, string>> = t.directory.rights
const tones: Readonly<Record<string, Tone>> = { exemption: 'warn', directoryRole: 'accent' }

export function rightsQuery(set: 'users' | 'groups' | 'servicePrincipals', id: string) {
  return objectQuery<Listed<CarriedRight>>(directoryPath(`/${set}/${id}/carriedRights`, {}))
}

/** Everything that a principal may by roles, mappings and exemptions, and the group that each right comes through. */
export function CarriedRights({
  set,
  id,
  hint,
}: {
  readonly set: 'users' | 'groups' | 'servicePrincipals'
  readonly id: string
  readonly hint: string
}) {
  const query = useQuery(rightsQuery(set, id))
  const columns: readonly Column<CarriedRight>[] = [
    {
      key: 'type',
      header: t.directory.rightType,
      cell: ({ type }) => <Badge tone={tones[type] ?? 'neutral'}>{rightNames[type] ?? type}</Badge>,
      width: '160px',
    },
    {
      key: 'name',
      header: t.directory.rightName,
      cell: ({ name }) => name ?? <span className="faint">–</span>,
    },
    { key: 'scope', header: t.directory.rightScope, cell: ({ scope }) => <ScopeLink scope={scope} /> },
    {
      key: 'through',
      header: t.directory.rightThrough,
      cell: ({ through }) =>
        through ? <PrincipalLink id={through} /> : <span className="quiet">{t.directory.rightDirect}</span>,
    },
    ...(set === 'users'
      ? [
          {
            key: 'why',
            header: <span className="visually-hidden">{t.directory.actions}</span>,
            isEnd: true,
            cell: ({ through }: CarriedRight) =>
              through && (
                <Link to="/why" search={{ person: id, group: through }} className="button ghost small">
                  {t.persons.why}
                </Link>
              ),
          },
        ]
      : []),
  ]
  return (
    <div className="stack">
      <p className="quiet small">{hint}</p>
      <Loaded query={query}>
        {({ value }) => (
          <DataTable
            label={t.persons.rights}
            columns={columns}
            rows={value}
            keyOf={({ type, name, scope, through }) => `${type} ${name} ${scope} ${through}`}
            empty={
              <Empty icon={ShieldOff} title={t.persons.rightsEmpty}>
                {t.persons.rightsEmptyHint}
              </Empty>
            }
          />
        )}
      </Loaded>
    </div>
  )
}
