import {
  autocompletion,
  type CompletionContext,
  closeBrackets,
  closeCompletion,
} from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { PostgreSQL, sql } from '@codemirror/lang-sql'
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { Compartment, EditorState, Prec } from '@codemirror/state'
import { EditorView, keymap, lineNumbers, placeholder } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { useEffect, useRef } from 'react'
import { nonce } from '../session/nonce.ts'
import './sql-editor.css'

/** Columns by table, for completion. */
export type Catalogue = Readonly<Record<string, readonly string[]>>

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: 'var(--accent-text)', fontWeight: '500' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--good)' },
  { tag: tags.number, color: 'var(--warn)' },
  { tag: tags.comment, color: 'var(--text-3)', fontStyle: 'italic' },
])

/**
 * A letter over a selection: the browser would give it the style of the selected text, inline, which the page's policy refuses
 * with an error.
 */
const replaceSelected = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { inputType, data } = event
    if (inputType !== 'insertText' || data === null || !/^[\w ]$/.test(data)) return false
    if (view.composing || view.state.selection.main.empty) return false
    event.preventDefault()
    view.dispatch(view.state.replaceSelection(data), { userEvent: 'input.type' })
    return true
  },
})

/** An editor for one statement. Tab leaves it: the keyboard must not be caught. */
export function SqlEditor({
  label,
  initial,
  catalogue,
  findTables,
  onChange,
  onRun,
}: {
  readonly label: string
  readonly initial: string
  readonly catalogue: Catalogue
  /** Names of tables beyond those of the catalogue, by a part. */
  readonly findTables: (text: string) => Promise<readonly string[]>
  readonly onChange: (text: string) => void
  readonly onRun: () => void
}) {
  const place = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(null)
  const language = useRef(new Compartment())
  const latest = useRef({ onChange, onRun, findTables, catalogue })
  latest.current = { onChange, onRun, findTables, catalogue }
  // biome-ignore lint/correctness/useExhaustiveDependencies: the editor is made once and keeps its own text
  useEffect(() => {
    if (!place.current) return
    const run = (editing: EditorView) => {
      closeCompletion(editing)
      latest.current.onRun()
      return true
    }
    const completeTable = async (context: CompletionContext) => {
      const word = context.matchBefore(/[\w.]{2,}/)
      if (!word) return null
      const { findTables: find, catalogue: known } = latest.current
      const names = (await find(word.text)).filter((name) => !(name in known))
      return { from: word.from, options: names.map((label) => ({ label, type: 'type' })) }
    }
    const editor = new EditorView({
      parent: place.current,
      state: EditorState.create({
        doc: initial,
        extensions: [
          EditorView.cspNonce.of(nonce),
          Prec.highest(keymap.of([{ key: 'Mod-Enter', run }])),
          lineNumbers(),
          history(),
          closeBrackets(),
          replaceSelected,
          autocompletion({ icons: false }),
          keymap.of([...defaultKeymap, ...historyKeymap]),
          language.current.of(sql({ dialect: PostgreSQL })),
          PostgreSQL.language.data.of({ autocomplete: completeTable }),
          syntaxHighlighting(colours),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ 'aria-label': label }),
          placeholder('select * from …'),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) latest.current.onChange(update.state.doc.toString())
          }),
        ],
      }),
    })
    view.current = editor
    return () => editor.destroy()
  }, [])
  useEffect(() => {
    const schema = Object.fromEntries(
      Object.entries(catalogue).map(([table, columns]) => [table, [...columns]]),
    )
    // Columns of the only table of a statement need no name before them.
    const [only, ...others] = Object.keys(schema).filter((table) => (schema[table]?.length ?? 0) > 0)
    const defaultTable = others.length === 0 && only !== undefined ? { defaultTable: only } : {}
    view.current?.dispatch({
      effects: language.current.reconfigure(sql({ dialect: PostgreSQL, schema, ...defaultTable })),
    })
  }, [catalogue])
  return <div className="sql-editor" ref={place} />
}
