import { Link, type LinkProps } from '@tanstack/react-router'
import { ChevronRight } from 'lucide-react'
import { Fragment, type ReactNode, useEffect } from 'react'
import { t } from '../texts/index.ts'

export interface Crumb {
  readonly label: string
  readonly link: LinkProps
}

/** A page: its title is the only first heading and the name of the tab. */
export function Page({
  title,
  description,
  crumbs = [],
  actions,
  tabs,
  beside,
  children,
}: {
  readonly title: string
  readonly description?: ReactNode
  readonly crumbs?: readonly Crumb[]
  readonly actions?: ReactNode
  readonly tabs?: ReactNode
  /** Small facts behind the title, such as a state. */
  readonly beside?: ReactNode
  readonly children: ReactNode
}) {
  useEffect(() => {
    document.title = `${title} · ${t.shell.product}`
  }, [title])
  return (
    <div className="page">
      <header className="page-head">
        <div className="stack tight">
          <div className="line">
            {crumbs.length > 0 && (
              <nav className="crumbs" aria-label="Breadcrumb">
                {crumbs.map((crumb) => (
                  <Fragment key={crumb.label}>
                    <Link {...crumb.link}>{crumb.label}</Link>
                    <ChevronRight size={14} aria-hidden />
                  </Fragment>
                ))}
              </nav>
            )}
            <h1>{title}</h1>
            {beside}
          </div>
          {description && <p>{description}</p>}
        </div>
        {actions && <div className="line">{actions}</div>}
      </header>
      {tabs}
      {children}
    </div>
  )
}

/** The pages of one thing, each with an address of its own. */
export function Tabs({
  label,
  items,
}: {
  readonly label: string
  readonly items: readonly {
    readonly label: string
    readonly link: LinkProps
    readonly count?: number | undefined
  }[]
}) {
  return (
    <nav className="tabs" aria-label={label}>
      {items.map((item) => (
        <Link key={item.label} {...item.link} activeProps={{ 'aria-current': 'page' }}>
          {item.label}
          {item.count !== undefined && item.count > 0 && <span className="count">{item.count}</span>}
        </Link>
      ))}
    </nav>
  )
}

export function Card({
  title,
  actions,
  isFlush = false,
  children,
}: {
  readonly title?: ReactNode
  readonly actions?: ReactNode
  /** For a table or list that reaches the border. */
  readonly isFlush?: boolean
  readonly children: ReactNode
}) {
  return (
    <section className="card">
      {(title || actions) && (
        <div className="card-head">
          <h2>{title}</h2>
          {actions && <div className="line">{actions}</div>}
        </div>
      )}
      {isFlush ? children : <div className="card-body">{children}</div>}
    </section>
  )
}
