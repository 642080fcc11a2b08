import type { Answer, RequestFacts } from '../../api/operation.ts'

/** True when the caller wants references that exist already to be skipped instead of refused. */
export function isLenient({ preferences }: RequestFacts): boolean {
  return preferences.get('handling')?.toLowerCase() === 'lenient'
}

export function answerLenient(answer: Answer, lenient: boolean): Answer {
  return lenient
    ? { ...answer, headers: { ...answer.headers, 'preference-applied': 'handling=lenient' } }
    : answer
}
