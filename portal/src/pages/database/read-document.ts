import { type DocumentProperties, emptyMask, type Rule } from '../../api/document.ts'
import { t } from '../../texts/index.ts'

type Sent = Partial<DocumentProperties>

/** A document from text: with or without its envelope. What it leaves out of the policy stays as it is. */
export function readDocument(
  text: string,
  present: DocumentProperties,
): { readonly properties: DocumentProperties } | { readonly fault: string } {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (error) {
    return { fault: explainSyntax(text, error) }
  }
  const sent = unwrap(parsed)
  if (!sent) return { fault: t.rules.noObject }
  const rules = (sent.rules ?? present.rules).map((rule): Rule => ({ ...emptyMask, ...rule }))
  return { properties: { policy: { ...present.policy, ...sent.policy }, rules } }
}

function unwrap(parsed: unknown): Sent | undefined {
  if (typeof parsed !== 'object' || parsed === null) return undefined
  const inner = 'properties' in parsed ? parsed.properties : parsed
  if (typeof inner !== 'object' || inner === null || !('rules' in inner || 'policy' in inner))
    return undefined
  return inner as Sent
}

function explainSyntax(text: string, error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  const position = Number(/position (\d+)/.exec(message)?.[1] ?? text.length)
  const before = text.slice(0, position).split('\n')
  const short = message.replace(/ in JSON at position.*$/s, '').replace(/\(line.*$/s, '')
  return t.rules.malformed(before.length, (before.at(-1)?.length ?? 0) + 1, short)
}
