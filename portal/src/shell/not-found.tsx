import { Link } from '@tanstack/react-router'
import { SearchX } from 'lucide-react'
import { t } from '../texts/index.ts'
import { Page } from '../ui/page.tsx'
import { Empty } from '../ui/states.tsx'

export function NotFound() {
  return (
    <Page title={t.states.notFoundTitle}>
      <div className="card">
        <Empty
          icon={SearchX}
          title={t.states.notFoundTitle}
          actions={
            <Link to="/" className="button">
              {t.states.backHome}
            </Link>
          }
        >
          {t.states.notFoundHint}
        </Empty>
      </div>
    </Page>
  )
}
