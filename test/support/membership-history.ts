/** A write of a member that was acknowledged at this time. Each pair is added once and removed once at most. */
export interface Write {
  readonly kind: 'memberAdded' | 'memberRemoved'
  readonly container: string
  readonly member: string
  readonly acknowledgedAt: number
}

/** The groups of an object as an answer gave them, with the revision that it named. */
export interface Answer {
  readonly object: string
  readonly startedAt: number
  readonly revision: number
  readonly ids: readonly string[]
}

export interface LogEntry {
  readonly revision: number
  readonly kind: string
  readonly container: string
  readonly member: string
}

/** Replays the log. Returns a line for each answer that is of another state than its revision says, or too old. */
export function findWrongAnswers(
  log: readonly LogEntry[],
  writes: readonly Write[],
  answers: readonly Answer[],
): string[] {
  const revisions = new Map(
    log.map((entry) => [`${entry.kind} ${entry.container} ${entry.member}`, entry.revision]),
  )
  const acknowledged = writes
    .map(({ kind, container, member, acknowledgedAt }) => ({
      acknowledgedAt,
      revision: revisions.get(`${kind} ${container} ${member}`) ?? Number.NaN,
    }))
    .sort((a, b) => a.acknowledgedAt - b.acknowledgedAt)
  const wrong = acknowledged.filter(({ revision }) => Number.isNaN(revision)).map(() => 'a write was lost')
  let oldest = 0
  let next = 0
  const required = answers
    .toSorted((a, b) => a.startedAt - b.startedAt)
    .map((answer) => {
      for (
        let write = acknowledged[next];
        write && write.acknowledgedAt < answer.startedAt;
        write = acknowledged[next]
      ) {
        oldest = Math.max(oldest, write.revision)
        next++
      }
      return { answer, atLeast: oldest }
    })
  const containers = new Map<string, Set<string>>()
  let at = 0
  for (const { answer, atLeast } of required.sort((a, b) => a.answer.revision - b.answer.revision)) {
    for (let entry = log[at]; entry && entry.revision <= answer.revision; entry = log[++at]) {
      const known = containers.get(entry.member) ?? new Set()
      containers.set(entry.member, known)
      if (entry.kind === 'memberAdded') known.add(entry.container)
      else known.delete(entry.container)
    }
    if (answer.revision < atLeast) wrong.push(`revision ${answer.revision} where ${atLeast} was acknowledged`)
    const expected = walk(containers, answer.object)
    if (expected.toSorted().join() !== answer.ids.toSorted().join())
      wrong.push(
        `${answer.object} at ${answer.revision}: ${answer.ids.length} groups in place of ${expected.length}`,
      )
  }
  return wrong
}

function walk(containers: ReadonlyMap<string, ReadonlySet<string>>, from: string): string[] {
  const found = new Set<string>()
  const open = [from]
  for (let one = open.pop(); one !== undefined; one = open.pop())
    for (const container of containers.get(one) ?? [])
      if (container !== from && !found.has(container)) {
        found.add(container)
        open.push(container)
      }
  return [...found]
}
