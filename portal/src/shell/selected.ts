import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { joinNames, splitNames } from './search.ts'

/** A longer address is cut by some chats and mail programs. */
const longestText = 1500

/** Changes a selection. It gets the newest one: two clicks may come before the page is drawn again. */
export type SelectRows = (change: (before: ReadonlySet<string>) => ReadonlySet<string>) => void

export const selectNone = (): ReadonlySet<string> => new Set()

/**
 * The selected rows of a list, in the address under a name, so that a link and the way back hold them; a selection takes other
 * names off the address. A selection that is too long for an address lasts as long as the page. The address follows a moment
 * after a click, so the next click builds on what is kept here.
 */
export function useSelected(name: 'selected' | 'columns' = 'selected', ...ended: readonly string[]) {
  const { [name]: listed = '' }: { [key in typeof name]?: string | undefined } = useSearch({ strict: false })
  const navigate = useNavigate()
  const [selected, setSelected] = useState<ReadonlySet<string>>(() => new Set(splitNames(listed)))
  const newest = useRef(selected)
  /** What was written and the address does not have yet. */
  const pending = useRef<string[]>([])
  const shown = useRef(listed)
  useEffect(() => {
    if (shown.current === listed) return
    shown.current = listed
    const at = pending.current.indexOf(listed)
    pending.current.splice(0, at < 0 ? pending.current.length : at + 1)
    if (at >= 0) return
    newest.current = new Set(splitNames(listed))
    setSelected(newest.current)
  }, [listed])
  const select: SelectRows = (change) => {
    const next = change(newest.current)
    const text = joinNames(next)
    const kept = text.length <= longestText ? text : ''
    newest.current = next
    setSelected(next)
    if (kept === (pending.current.at(-1) ?? listed)) return
    pending.current.push(kept)
    const others = Object.fromEntries(ended.map((one) => [one, undefined]))
    void navigate({
      to: '.',
      search: (before) => ({ ...before, ...others, [name]: kept === '' ? undefined : kept }) as never,
      replace: true,
    })
  }
  return { selected, select }
}
