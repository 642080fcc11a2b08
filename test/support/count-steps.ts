import { type Profiler, Session } from 'node:inspector'

const session = new Session()
session.connect()
session.post('Profiler.enable')
// Before any code under test is compiled: V8 counts the blocks of functions that it compiles from now on.
session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })

/** Returns how many blocks and functions under `folder`, a part of their path, `run` runs through: work that no slow machine alters. */
export function countSteps(folder: string, run: () => void): number {
  takeCounts()
  run()
  let steps = 0
  for (const { url, functions } of takeCounts())
    if (url.includes(folder))
      for (const { ranges } of functions) for (const { count } of ranges) steps += count
  return steps
}

/** The counts since they were taken last. */
function takeCounts(): Profiler.ScriptCoverage[] {
  let counts: Profiler.ScriptCoverage[] = []
  session.post('Profiler.takePreciseCoverage', (error, { result }) => {
    if (error) throw error
    counts = result
  })
  return counts
}
