import type { Answer, RequestFacts } from '../../api/operation.ts'
import { applyPreference } from '../entities/preferences.ts'

/** True when the caller wants references that exist already to be skipped instead of refused. */
export function isLenient({ preferences }: RequestFacts): boolean {
  return preferences.get('handling')?.toLowerCase() === 'lenient'
}

export function answerLenient(answer: Answer, lenient: boolean): Answer {
  return lenient ? applyPreference(answer, 'handling=lenient') : answer
}
