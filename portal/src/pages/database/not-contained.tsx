import { useQuery } from '@tanstack/react-query'
import { ShieldCheck } from 'lucide-react'
import { containmentQuery, type RoleVerdict } from '../../api/document.ts'
import { t } from '../../texts/index.ts'
import { Badge } from '../../ui/badge.tsx'
import { CodeBlock } from '../../ui/copy.tsx'
import { Card } from '../../ui/page.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { useDatabasePlace, useVisibleDatabase } from './use-database.ts'

const mostShown = 20

/** The database roles that can get around the masks, each reason with the statement that ends it. */
export function NotContained() {
  const isBound = useVisibleDatabase()?.properties.boundTo != null
  const query = useQuery({ ...containmentQuery(useDatabasePlace()), enabled: isBound })
  if (!isBound) return null
  return (
    <Card
      title={t.containment.title}
      actions={
        query.data && query.data.notContained > 0 && <Badge tone="warn">{query.data.notContained}</Badge>
      }
    >
      <Loaded query={query}>
        {({ value, notContained }) =>
          notContained === 0 ? (
            <Empty icon={ShieldCheck} title={t.containment.emptyTitle}>
              {t.containment.emptyHint}
            </Empty>
          ) : (
            <div className="stack">
              <p className="quiet small">{t.containment.hint}</p>
              <ul className="stack" aria-label={t.containment.title}>
                {value.slice(0, mostShown).map((one) => (
                  <li key={one.role} className="stack tight">
                    <Reasons {...one} />
                  </li>
                ))}
              </ul>
              {notContained > mostShown && (
                <p className="quiet small">{t.containment.more(notContained - mostShown)}</p>
              )}
            </div>
          )
        }
      </Loaded>
    </Card>
  )
}

function Reasons({ role, reasons }: RoleVerdict) {
  return reasons.map(({ kind, text, statement, via }) => (
    <div key={`${kind} ${text} ${via}`} className="stack tight">
      <p className="line">
        <code>{role}</code> <span>{text}</span>
        {via !== null && <span className="faint">{t.containment.through(via)}</span>}
      </p>
      {statement === null ? (
        <p className="quiet small">{t.containment.exemptAlone}</p>
      ) : (
        <CodeBlock label={t.containment.statementOf(role)} text={`${statement};`} />
      )}
    </div>
  ))
}
