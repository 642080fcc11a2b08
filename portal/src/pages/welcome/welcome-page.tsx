import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Eye, PlugZap } from 'lucide-react'
import { allows, databasesQuery, findSample, permissionsQuery, placeOf } from '../../api/masking.ts'
import { t } from '../../texts/index.ts'
import { Card, Page } from '../../ui/page.tsx'
import { BindForm } from './bind-form.tsx'
import './welcome.css'

/** The first steps after a first start: look at the sample, or bind a database of one's own. */
export function WelcomePage() {
  const { data: databases } = useQuery(databasesQuery)
  const { data: roles } = useQuery(permissionsQuery(''))
  const shop = databases && findSample(databases)
  return (
    <Page title={t.welcome.title} description={t.welcome.description}>
      <div className="welcome">
        <Card title={t.welcome.shopTitle}>
          <div className="stack">
            <Eye size={24} aria-hidden className="welcome-icon" />
            {databases && <p className="quiet">{shop ? t.welcome.shopText : t.welcome.shopNone}</p>}
            {shop && (
              <div className="line">
                <Link
                  className="button primary"
                  to="/databases/$subscription/$group/$server/$database/data"
                  params={{ ...placeOf(shop) }}
                  search={{ schema: 'public', table: 'customers' }}
                >
                  {t.welcome.shopOpen}
                </Link>
              </div>
            )}
          </div>
        </Card>
        <Card title={t.welcome.bindTitle}>
          <div className="stack">
            <PlugZap size={24} aria-hidden className="welcome-icon" />
            <p className="quiet">{t.welcome.bindText}</p>
            {roles &&
              (allows(roles, 'Vendor.Sql/servers/databases/write') ? (
                <BindForm />
              ) : (
                <p className="quiet small">{t.welcome.noRight}</p>
              ))}
          </div>
        </Card>
      </div>
    </Page>
  )
}
