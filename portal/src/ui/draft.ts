import { useState } from 'react'
import { keepDraft, readDraft } from '../session/drafts.ts'
import { usePerson } from '../session/person.tsx'

/** What a person has typed and not stored yet. A reload of the tab keeps it, so it must hold no secret. */
export function useDraft<Draft>(name: string) {
  const { id } = usePerson()
  const [draft, setDraft] = useState(() => readDraft(id, name) as Draft | undefined)
  return {
    draft,
    setDraft: (next: Draft | undefined) => {
      setDraft(next)
      keepDraft(id, name, next)
    },
    /** The draft was stored: the page may show it until it has read what is stored. */
    forgetDraft: () => keepDraft(id, name, undefined),
  }
}
