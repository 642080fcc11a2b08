import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { AppWindow, KeyRound, UsersRound } from 'lucide-react'
import { kindOf, type Named } from '../api/directory.ts'
import { principalQuery } from '../api/principals.ts'
import { t } from '../texts/index.ts'
import { Avatar } from '../ui/badge.tsx'
import './directory.css'

/** A person, group, application or role by its name, leading to its page. */
export function ObjectLink({ object }: { readonly object: Named }) {
  const { id, appId } = object
  const name = object.displayName ?? t.directory.unnamed
  const kind = kindOf(object)
  const words = (
    <>
      <ObjectIcon object={object} />
      <span className="truncate">{name}</span>
    </>
  )
  const look = { className: 'object-link row-link' }
  if (kind === 'user')
    return (
      <Link to="/people/$id" params={{ id }} {...look}>
        {words}
      </Link>
    )
  if (kind === 'group')
    return (
      <Link to="/groups/$id" params={{ id }} {...look}>
        {words}
      </Link>
    )
  if ((kind === 'servicePrincipal' || kind === 'application') && appId)
    return (
      <Link to="/applications/$appId" params={{ appId }} {...look}>
        {words}
      </Link>
    )
  return <span className="object-link">{words}</span>
}

export function ObjectIcon({ object }: { readonly object: Named }) {
  const kind = kindOf(object)
  if (kind === 'user') return <Avatar name={object.displayName ?? '?'} />
  const Icon = kind === 'group' ? UsersRound : kind === 'directoryRole' ? KeyRound : AppWindow
  return (
    <span className="avatar square" aria-hidden>
      <Icon size={13} />
    </span>
  )
}

/** The same for an id alone. An id that the reader may not look up stays an id. */
export function PrincipalLink({ id }: { readonly id: string }) {
  const { data } = useQuery(principalQuery(id))
  return data ? <ObjectLink object={data} /> : <code className="quiet">{id}</code>
}
