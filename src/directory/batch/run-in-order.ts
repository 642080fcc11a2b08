import { fail } from '../../kernel/problem.ts'

interface Step {
  readonly id: string
  readonly dependsOn?: readonly string[] | null
  readonly depends_on?: readonly string[] | null
}

function dependenciesOf({ dependsOn, depends_on }: Step): readonly string[] {
  return [...(dependsOn ?? []), ...(depends_on ?? [])]
}

interface Actions<S, A> {
  run(step: S): Promise<A>
  /** Answers a step of which the dependency `failed` did not succeed. */
  skip(step: S, failed: string): Promise<A>
  succeeded(answer: A): boolean
}

/** Runs each step after those that it depends on, a bounded number at a time. Refuses steps that can have no order. */
export async function runInOrder<S extends Step, A>(
  steps: readonly S[],
  atOnce: number,
  { run, skip, succeeded }: Actions<S, A>,
): Promise<ReadonlyMap<string, A>> {
  const waiting = new Set(orderSteps(steps))
  const answers = new Map<string, A>()
  const work = async (step: S): Promise<void> => {
    const failed = dependenciesOf(step).find((id) => !succeeded(answers.get(id) as A))
    answers.set(step.id, await (failed === undefined ? run(step) : skip(step, failed)))
  }
  const running = new Map<string, Promise<void>>()
  while (waiting.size > 0 || running.size > 0) {
    for (const step of waiting) {
      if (running.size >= atOnce) break
      if (dependenciesOf(step).some((id) => !answers.has(id))) continue
      waiting.delete(step)
      running.set(
        step.id,
        work(step).finally(() => running.delete(step.id)),
      )
    }
    await Promise.race(running.values())
  }
  return answers
}

/** The steps, each after those that it depends on. */
function orderSteps<S extends Step>(steps: readonly S[]): S[] {
  const byId = new Map<string, S>()
  for (const step of steps) {
    if (byId.has(step.id))
      fail('InvalidBatch', { reason: `the id '${step.id.slice(0, 100)}' is given twice` })
    byId.set(step.id, step)
  }
  const ordered = new Set<S>()
  const open = new Set<S>()
  const place = (step: S): void => {
    if (ordered.has(step)) return
    if (open.has(step)) fail('InvalidBatch', { reason: 'requests depend on each other in a circle' })
    open.add(step)
    for (const id of dependenciesOf(step))
      place(byId.get(id) ?? fail('InvalidBatch', { reason: `there is no request '${id.slice(0, 100)}'` }))
    ordered.add(step)
  }
  for (const step of steps) place(step)
  return [...ordered]
}
