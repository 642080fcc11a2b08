import { Type } from 'typebox'
import { type InnerAnswer, ok } from '../../api/operation.ts'
import { describe, fail, Problem } from '../../kernel/problem.ts'
import { operation } from '../operation.ts'
import {
  type BatchedRequest,
  batchedRequest,
  mostRequests,
  readInner,
  showAnswer,
} from './batched-request.ts'
import { runInOrder } from './run-in-order.ts'

const atOnce = 4

/** Requests are handled by themselves, each in its own transaction: the batch holds none. */
export const runBatch = operation({
  name: 'runBatch',
  clause: 'DIR-250',
  summary: `Run up to ${mostRequests} requests in one`,
  method: 'POST',
  path: '/$batch',
  permission: { anyCaller: 'Every caller; each request inside needs its own permission.' },
  reads: true,
  body: Type.Object({ requests: Type.Array(batchedRequest) }, { additionalProperties: false }),
  answers: {
    200: Type.Object({
      responses: Type.Array(
        Type.Object({
          id: Type.String(),
          status: Type.Integer(),
          headers: Type.Record(Type.String(), Type.String()),
          body: Type.Optional(Type.Unknown()),
        }),
      ),
    }),
  },
  async run({ body: { requests }, request, sendInner }) {
    if (request.isInner) fail('InvalidBatch', { reason: 'it stands inside another batch' })
    if (requests.length < 1 || requests.length > mostRequests)
      fail('InvalidBatch', { reason: `it must have 1 to ${mostRequests} requests` })
    const send = async (one: BatchedRequest) => sendInner(readInner(one, request.baseUrl))
    const answers = await runInOrder(requests, atOnce, {
      run: (one) => answerProblems(request.id, () => send(one)),
      skip: (_one, failed) =>
        answerProblems(request.id, () => fail('FailedDependency', { id: failed.slice(0, 100) })),
      succeeded: ({ status }) => status < 400,
    })
    return ok({ responses: requests.map((one) => showAnswer(one, answers.get(one.id) as InnerAnswer)) })
  },
})

/** Answers a request that never reached the API: it has the id of the batch. */
async function answerProblems(requestId: string, run: () => Promise<InnerAnswer>): Promise<InnerAnswer> {
  try {
    return await run()
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    const { status, code, message } = describe(error, 'directory')
    const innerError = { date: new Date().toISOString().slice(0, 19), 'request-id': requestId }
    return {
      status,
      headers: { 'content-type': 'application/json', 'request-id': requestId },
      body: JSON.stringify({ error: { code, message, innerError } }),
    }
  }
}
