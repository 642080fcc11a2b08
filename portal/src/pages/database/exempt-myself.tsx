import { Link } from '@tanstack/react-router'
import { usePerson } from '../../session/person.tsx'
import { t } from '../../texts/index.ts'
import { Button } from '../../ui/button.tsx'
import { useDocumentChange } from './document-change.tsx'
import { useDatabasePlace } from './use-database.ts'

/** The way from the masked side alone to two pairs of eyes: through the drawer, for oneself or, on its page, for others. */
export function ExemptMyself() {
  const place = useDatabasePlace()
  const { id, displayName } = usePerson()
  const { drawer, propose } = useDocumentChange()
  const exempt = () =>
    propose({
      title: t.access.addTitle(displayName),
      differences: [{ label: displayName, before: t.access.seesMasked, after: t.access.seesRaw }],
      after: (before) => ({
        ...before,
        policy: { ...before.policy, exemptPrincipals: [...before.policy.exemptPrincipals, id] },
      }),
      doneText: t.access.addDone(displayName),
    })
  return (
    <span className="line">
      <Button size="small" onClick={exempt}>
        {t.data.exemptMyself}
      </Button>
      <Link
        className="button ghost small"
        to="/databases/$subscription/$group/$server/$database/people"
        params={{ ...place }}
      >
        {t.data.exemptPerson}
      </Link>
      {drawer}
    </span>
  )
}
