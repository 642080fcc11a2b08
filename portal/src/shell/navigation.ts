import type { LinkProps } from '@tanstack/react-router'
import {
  AppWindow,
  CircleHelp,
  Database,
  KeyRound,
  LayoutDashboard,
  type LucideIcon,
  Plug,
  ScrollText,
  Server,
  UserRound,
  UsersRound,
} from 'lucide-react'
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
  {
    label: t.shell.directory,
    places: [
      { label: t.shell.people, icon: UserRound, link: { to: '/people' }, keywords: 'users accounts persons' },
      { label: t.shell.groups, icon: UsersRound, link: { to: '/groups' }, keywords: 'members nesting teams' },
      {
        label: t.shell.why,
        icon: CircleHelp,
        link: { to: '/why' },
        keywords: 'explain membership chain reason',
      },
      {
        label: t.shell.applications,
        icon: AppWindow,
        link: { to: '/applications' },
        keywords: 'secrets clients permissions consent',
      },
      {
        label: t.shell.roles,
        icon: KeyRound,
        link: { to: '/roles' },
        keywords: 'assignments administrators owner reader',
      },
      {
        label: t.shell.credentials,
        icon: Plug,
        link: { to: '/credentials' },
        keywords: 'passwords tools gateway login',
      },
    ],
  },
  {
    label: t.shell.operations,
    places: [
      {
        label: t.shell.audit,
        icon: ScrollText,
        link: { to: '/audit' },
        keywords: 'log changes history sign-ins',
      },
      {
        label: t.shell.system,
        icon: Server,
        link: { to: '/system' },
        keywords: 'health version keys certificate settings',
      },
    ],
  },
]
