import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Named } from '../../api/directory.ts'
import { documentQuery } from '../../api/document.ts'
import { principalQuery } from '../../api/principals.ts'
import { rightsQuery } from '../../directory/carried-rights.tsx'
import { PrincipalLink } from '../../directory/object-link.tsx'
import { t } from '../../texts/index.ts'
import { Button } from '../../ui/button.tsx'
import { judgeSight, type Sight } from './sight.ts'
import { useDatabasePlace } from './use-database.ts'

/** The sight of a person; undefined while it is not known. */
export interface PersonSight extends Sight {
  readonly person: Named
}

/** A person's view of the data by exemptions of themselves, of their groups, and of the roles that they log in as. */
export function useSight(id: string | undefined): PersonSight | undefined {
  const place = useDatabasePlace()
  const isAsked = id !== undefined
  const { data: person } = useQuery({ ...principalQuery(id ?? ''), enabled: isAsked })
  const { data: rights } = useQuery({ ...rightsQuery('users', id ?? ''), enabled: isAsked })
  const { data: document } = useQuery(documentQuery(place))
  if (!person || !rights || !document) return undefined
  return { person, ...judgeSight(rights.value, document.exemptions, place) }
}

/** Says with whose eyes the preview looks, and why they see what they see. */
export function SightLine({
  sight: { person, seesRaw, through, role },
  areInForce,
  hasRaw,
  onEnd,
}: {
  readonly sight: PersonSight
  readonly areInForce: boolean
  readonly hasRaw: boolean
  readonly onEnd: () => void
}) {
  const name = person.displayName ?? person.id
  const unexempt = areInForce ? t.data.seesMasked(name) : t.data.mayReadRaw(name)
  return (
    <div className="panel-note line spread" role="status">
      <span className="line">
        {seesRaw ? t.data.seesRaw(name) : unexempt}
        {seesRaw && role !== null && (
          <>
            {t.data.exemptByRole} <code>{role}</code>
          </>
        )}
        {seesRaw && role === null && (through === null ? t.data.isExempt : t.data.exemptBy)}
        {through !== null && (
          <>
            <PrincipalLink id={through} />
            <Link to="/why" search={{ person: person.id, group: through }} className="button ghost small">
              {t.data.why}
            </Link>
          </>
        )}
        {(seesRaw || !areInForce) && !hasRaw && t.data.notYours}
      </span>
      <Button size="small" tone="ghost" onClick={onEnd}>
        {t.data.ownEyes}
      </Button>
    </div>
  )
}
