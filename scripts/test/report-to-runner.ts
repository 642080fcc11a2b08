// The reporter of a shard: it sends each result to the runner.
import path from 'node:path'
import { inspect } from 'node:util'
import { send } from './shard-messages.ts'
import { indent } from './tally.ts'

interface TestResult {
  readonly name: string
  readonly nesting: number
  readonly line?: number
  readonly column?: number
  readonly file?: string
  readonly skip?: string | boolean
  readonly todo?: string | boolean
  readonly message?: string
  readonly details: { readonly type?: string; readonly error?: Error; readonly duration_ms: number }
}

export default async function* reportToRunner(
  events: AsyncIterable<{ type: string; data: TestResult }>,
): AsyncGenerator<never> {
  for await (const { type, data } of events) {
    if (type === 'test:pass' || type === 'test:fail') takeResult(data)
    if (type === 'test:diagnostic') takeDiagnostic(data.message ?? '', data.nesting)
  }
  yield* []
}

/** Those of nesting 0 are counts of the whole process, which the runner makes itself. */
function takeDiagnostic(text: string, nesting: number): void {
  if (/^(Error|Warning): /.test(text)) send({ kind: 'strayError', text })
  else if (nesting > 0) send({ kind: 'note', text })
}

function takeResult(result: TestResult): void {
  const { name, nesting, skip, todo, details } = result
  send({
    kind: 'testEnd',
    end: {
      name,
      durationMs: details.duration_ms,
      nesting,
      isSuite: details.type === 'suite',
      isSkipped: isMarked(skip) || isMarked(todo),
      ...(details.error && {
        failure: {
          text: describeFailure(result, details.error),
          isCausedByChildren:
            'failureType' in details.error && details.error.failureType === 'subtestsFailed',
        },
      }),
    },
  })
}

function isMarked(mark: string | boolean | undefined): boolean {
  return mark !== undefined && mark !== false
}

function describeFailure({ name, nesting, file, line, column }: TestResult, error: Error): string {
  const where = file && nesting > 0 ? ` (${path.relative('', file)}:${line}:${column})` : ''
  const cause = error.cause instanceof Error ? error.cause : (error.cause ?? error.message)
  const text = typeof cause === 'string' ? cause : inspect(cause, { depth: 8 })
  const lines = text
    .split('\n')
    .filter((each) => !/^\s+at .*\bnode:.*[^{]$|lines matching cause stack/.test(each))
  return `${name}${where}\n${indent(lines.join('\n'))}`
}
