import type { Answer, RequestFacts } from '../../api/operation.ts'

/** True when the caller prefers an answer without the entity, or with it. */
export function prefers({ preferences }: RequestFacts, what: 'minimal' | 'representation'): boolean {
  return preferences.get('return')?.toLowerCase() === what
}

/** The answer with the header that says which preference it follows. */
export function applyPreference(answer: Answer, preference: string): Answer {
  const before = answer.headers?.['preference-applied']
  const applied = before === undefined ? preference : `${before}, ${preference}`
  return { ...answer, headers: { ...answer.headers, 'preference-applied': applied } }
}
