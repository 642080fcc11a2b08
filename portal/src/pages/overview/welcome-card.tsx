import { Link } from '@tanstack/react-router'
import { VenetianMask, X } from 'lucide-react'
import { useState } from 'react'
import { findSample, placeOf, type VisibleDatabase } from '../../api/masking.ts'
import { t } from '../../texts/index.ts'
import { IconButton } from '../../ui/button.tsx'

const key = 'masquerade.welcomed'

/** The first steps, as long as there is nothing but the sample; the person can put the card away. */
export function WelcomeCard({ databases }: { readonly databases: readonly VisibleDatabase[] }) {
  const [isOver, setOver] = useState(() => localStorage.getItem(key) !== null)
  const sample = findSample(databases)
  if (isOver || databases.length > 1 || sample?.properties.enforcement.state !== 'Enforced') return null
  const end = () => {
    localStorage.setItem(key, '1')
    setOver(true)
  }
  return (
    <section className="card welcome-card" aria-label={t.welcome.title}>
      <VenetianMask size={24} aria-hidden />
      <div className="grow stack tight">
        <h2>{t.welcome.title}</h2>
        <p className="quiet">{t.welcome.short}</p>
        <div className="line">
          <Link
            className="button primary"
            to="/databases/$subscription/$group/$server/$database/data"
            params={{ ...placeOf(sample) }}
            search={{ schema: 'public', table: 'customers' }}
          >
            {t.welcome.shopOpen}
          </Link>
          <Link className="button" to="/welcome">
            {t.welcome.bindTitle}
          </Link>
        </div>
      </div>
      <IconButton label={t.welcome.dismiss} onClick={end}>
        <X size={16} />
      </IconButton>
    </section>
  )
}
