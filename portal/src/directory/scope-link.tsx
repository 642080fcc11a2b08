import { t } from '../texts/index.ts'
import { PrincipalLink } from './object-link.tsx'

/** A place of the masking API in the words of a reader: its names, the outermost first. A client is a link to it. */
export function ScopeLink({ scope }: { readonly scope: string | null }) {
  const client = /^\/servicePrincipals\/([^/]+)$/.exec(scope ?? '')?.[1]
  if (client !== undefined) return <PrincipalLink id={client} />
  const names = namesOf(scope ?? '/')
  if (names.length === 0) return <span className="quiet">{t.directory.everywhere}</span>
  return (
    <span title={scope ?? '/'}>
      {names.map((name, index) => (
        <span key={`${name} ${names[index - 1] ?? ''}`} className={index === names.length - 1 ? '' : 'quiet'}>
          {index > 0 && ' / '}
          {name}
        </span>
      ))}
    </span>
  )
}

/** The names in a scope, the outermost first. */
export function namesOf(scope: string): readonly string[] {
  const parts = scope.split('/').filter(Boolean)
  const labels = new Set(['subscriptions', 'resourcegroups', 'servers', 'databases'])
  return parts.filter((_, index) => labels.has(parts[index - 1]?.toLowerCase() ?? ''))
}
