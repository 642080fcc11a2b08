import type { LinkProps } from '@tanstack/react-router'
import { Database, LayoutDashboard, type LucideIcon } from 'lucide-react'
import { t } from '../texts/index.ts'

export interface Place {
  readonly label: string
  readonly icon: LucideIcon
  readonly link: LinkProps
  /** Other words that find it in the palette. */
  readonly keywords?: string
}

export interface PlaceGroup {
  readonly label: string | undefined
  readonly places: readonly Place[]
}

/** The places of the sidebar and of the palette. A new section is a line here and a route in `router.tsx`. */
export const navigation: readonly PlaceGroup[] = [
  {
    label: undefined,
    places: [
      { label: t.shell.overview, icon: LayoutDashboard, link: { to: '/' }, keywords: 'home start dashboard' },
      {
        label: t.shell.databases,
        icon: Database,
        link: { to: '/databases' },
        keywords: 'servers bindings masks',
      },
    ],
  },
]
