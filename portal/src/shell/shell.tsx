import { Link, Outlet, useRouterState } from '@tanstack/react-router'
import { LogOut, Menu as MenuIcon, Search } from 'lucide-react'
import { Dialog, DropdownMenu } from 'radix-ui'
import { useEffect, useState, useSyncExternalStore } from 'react'
import icon from '../../icon.svg'
import { UndoDrawer } from '../change/undo-drawer.tsx'
import { usePerson } from '../session/person.tsx'
import { getPreferences, onPreferences, setPreferences } from '../session/preferences.ts'
import { signOut } from '../session/session.ts'
import { t } from '../texts/index.ts'
import { Avatar } from '../ui/badge.tsx'
import { IconButton } from '../ui/button.tsx'
import { Toasts } from '../ui/toasts.tsx'
import { navigation } from './navigation.ts'
import { Palette } from './palette.tsx'
import './shell.css'

const isApple = /Mac|iPhone|iPad/.test(navigator.userAgent)

/** The frame of every page: navigation at the left, the palette over it, toasts at the edge. */
export function Shell() {
  const [isPaletteOpen, setPaletteOpen] = useState(false)
  const [isNavigationOpen, setNavigationOpen] = useState(false)
  const path = useRouterState({ select: (state) => state.location.pathname })
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.metaKey || event.ctrlKey)) return
      event.preventDefault()
      setPaletteOpen((isOpen) => !isOpen)
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [])
  // biome-ignore lint/correctness/useExhaustiveDependencies: the layer closes whenever the reader arrives elsewhere
  useEffect(() => setNavigationOpen(false), [path])
  const openPalette = () => setPaletteOpen(true)
  return (
    <>
      <a className="skip-link" href="#content">
        {t.shell.skip}
      </a>
      <div className="shell">
        <header className="topbar">
          <IconButton label={t.shell.openNavigation} onClick={() => setNavigationOpen(true)}>
            <MenuIcon size={18} />
          </IconButton>
          <Brand />
          <IconButton label={t.shell.search} onClick={openPalette}>
            <Search size={16} />
          </IconButton>
        </header>
        <div className="sidebar">
          <Sidebar onSearch={openPalette} />
        </div>
        <main className="content" id="content" tabIndex={-1}>
          <Outlet />
        </main>
      </div>
      <Dialog.Root open={isNavigationOpen} onOpenChange={setNavigationOpen}>
        <Dialog.Portal>
          <Dialog.Overlay className="scrim" />
          <Dialog.Content className="sidebar in-layer" aria-describedby={undefined}>
            <Dialog.Title className="visually-hidden">{t.shell.navigation}</Dialog.Title>
            <Sidebar onSearch={openPalette} />
          </Dialog.Content>
        </Dialog.Portal>
      </Dialog.Root>
      <Palette isOpen={isPaletteOpen} onClose={() => setPaletteOpen(false)} />
      <UndoDrawer />
      <Toasts />
    </>
  )
}

function Brand() {
  return (
    <Link to="/" className="brand">
      <img src={icon} alt="" />
      {t.shell.product}
    </Link>
  )
}

function Sidebar({ onSearch }: { readonly onSearch: () => void }) {
  return (
    <>
      <Brand />
      <button type="button" className="search-button" onClick={onSearch}>
        <Search size={14} aria-hidden />
        <span>{t.shell.search}</span>
        <kbd>{isApple ? '⌘ K' : 'Ctrl K'}</kbd>
      </button>
      <nav aria-label={t.shell.navigation}>
        {navigation.map((group) => (
          <div className="nav-group" key={group.label ?? ''}>
            {group.label !== undefined && <h2>{group.label}</h2>}
            {group.places.map(({ label, icon: Icon, link }) => (
              <Link
                key={label}
                {...link}
                className="nav-link"
                activeOptions={{ exact: link.to === '/', includeSearch: false }}
                activeProps={{ 'aria-current': 'page' }}
              >
                <Icon size={16} aria-hidden />
                {label}
              </Link>
            ))}
          </div>
        ))}
      </nav>
      <div className="sidebar-foot">
        <Account />
      </div>
    </>
  )
}

function Account() {
  const person = usePerson()
  const preferences = useSyncExternalStore(onPreferences, getPreferences)
  return (
    <DropdownMenu.Root>
      <DropdownMenu.Trigger asChild>
        <button type="button" className="account" aria-label={t.shell.account(person.displayName)}>
          <Avatar name={person.displayName} />
          <span>
            <span className="truncate">{person.displayName}</span>
            <br />
            <span className="faint small truncate">{person.userPrincipalName}</span>
          </span>
        </button>
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className="menu" align="start" side="top" sideOffset={6} collisionPadding={8}>
          <Choices
            label={t.shell.theme}
            names={t.shell.themes}
            value={preferences.theme}
            onChange={(theme) => setPreferences({ theme })}
          />
          <DropdownMenu.Separator className="menu-line" />
          <Choices
            label={t.shell.density}
            names={t.shell.densities}
            value={preferences.density}
            onChange={(density) => setPreferences({ density })}
          />
          <DropdownMenu.Separator className="menu-line" />
          <DropdownMenu.Item className="menu-item" asChild>
            <a href="/docs" target="_blank" rel="noreferrer">
              {t.shell.docs}
            </a>
          </DropdownMenu.Item>
          <DropdownMenu.Item className="menu-item" onSelect={signOut}>
            <LogOut size={14} aria-hidden />
            {t.shell.signOut}
          </DropdownMenu.Item>
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  )
}

function Choices<Value extends string>({
  label,
  names,
  value,
  onChange,
}: {
  readonly label: string
  readonly names: Readonly<Record<Value, string>>
  readonly value: Value
  readonly onChange: (value: Value) => void
}) {
  return (
    <DropdownMenu.RadioGroup value={value} onValueChange={(next) => onChange(next as Value)}>
      <DropdownMenu.Label className="menu-label">{label}</DropdownMenu.Label>
      {(Object.keys(names) as Value[]).map((name) => (
        <DropdownMenu.RadioItem
          key={name}
          value={name}
          className="menu-item"
          onSelect={(event) => event.preventDefault()}
        >
          {names[name]}
          <DropdownMenu.ItemIndicator>✓</DropdownMenu.ItemIndicator>
        </DropdownMenu.RadioItem>
      ))}
    </DropdownMenu.RadioGroup>
  )
}
