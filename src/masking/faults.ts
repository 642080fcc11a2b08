import { type Detail, fail, type ProblemName } from '../kernel/problem.ts'

/** A field, below `properties` or another stem, and what would be right. */
export interface Fault {
  readonly field: string
  readonly reason: string
}

/** Refuses all faults at once, so that a caller can put them right at once. */
export function failOn(problem: ProblemName, faults: readonly Fault[], stem = 'properties'): void {
  if (faults.length === 0) return
  const details = faults.map(({ field, reason }): Detail => {
    const target = `${stem}.${field}`
    return { code: 'InvalidValue', message: `'${target}' ${reason.replace(/([^.;?])$/, '$1.')}`, target }
  })
  const reason = details.map(({ message }) => message).join(' ')
  fail(problem, { reason }, { target: details[0]?.target ?? '', details })
}

export function refuseContent(target: string, reason: string): never {
  return fail('InvalidRequestContent', { reason: `'${target}' ${reason}.` }, { target })
}

/** The end of a message about an unknown name. */
export function suggest(nearest: readonly string[]): string {
  return nearest.length > 0 ? `; did you mean ${nearest.map((name) => `'${name}'`).join(' or ')}?` : ''
}
