import { Check, Copy } from 'lucide-react'
import { useState } from 'react'
import { t } from '../texts/index.ts'
import { IconButton } from './button.tsx'

export function CopyButton({
  text,
  label = t.states.copy,
}: {
  readonly text: string
  readonly label?: string
}) {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
    setTimeout(() => setCopied(false), 1500)
  }
  return (
    <IconButton label={isCopied ? t.states.copied : label} size="small" onClick={() => void copy()}>
      {isCopied ? <Check size={13} /> : <Copy size={13} />}
    </IconButton>
  )
}

/** Text to read and copy: a statement, an id, a command. */
export function CodeBlock({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <div className="code-block">
      <section className="code-text" tabIndex={0} aria-label={label}>
        <pre>{text}</pre>
      </section>
      <CopyButton text={text} />
    </div>
  )
}
