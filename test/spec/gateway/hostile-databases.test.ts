import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import pg from 'pg'
import { TextReader } from '../../../src/gateway/session/text-reader.ts'
import { int32, message } from '../../../src/wire/messages.ts'
import { openBareGateway, testPrincipal } from '../../support/bare-gateway.ts'
import { clause } from '../../support/clause.ts'
import { startHostileServer, startScramServer } from '../../support/hostile-server.ts'
import { createMaskedDatabase } from '../../support/masked-database.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { openWireClient } from '../../support/wire-client.ts'

const setting = (at: number) => message('S', `setting${at}\0${'x'.repeat(900_000)}\0`)
const notice = message('N', `SNOTICE\0M${'x'.repeat(900_000)}\0\0`)

describe('a database behind the gateway that does not keep to the protocol', () => {
  clause(
    'GATE-181',
    'What a database sends before its session begins is capped at 4 MB, and of the settings…',
    async () => {
      await using target = await createMaskedDatabase()
      const floods: Record<string, readonly Buffer[]> = {
        'settings without an end': Array.from({ length: 5 }, (_, at) => setting(at)),
        'notices without an end': Array.from({ length: 5 }, () => notice),
      }
      for (const [name, flood] of Object.entries(floods)) {
        using server = await startHostileServer([message('R', int32(0)), ...flood])
        const gateway = await openBareGateway(target.database, `postgres://127.0.0.1:${server.port}/d`, {
          allowWeakLogin: true,
        })
        try {
          const login = openWireClient(`postgres://role:secret@127.0.0.1:${gateway.port}/d`)
          await assert.rejects(login, /more data than belongs to a login/, name)
        } finally {
          await gateway.close(0)
        }
      }
    },
  )

  clause(
    'GATE-297',
    "A database asks for the proof of a login role's password once in a login: where it asks again, the…",
    async () => {
      await using target = await createMaskedDatabase()
      using server = await startScramServer({ rounds: 4096, times: 5 })
      const gateway = await openBareGateway(
        target.database,
        `postgres://127.0.0.1:${server.port}/d`,
        {},
        {},
        {
          ports: {
            checkToken: async () => ({ kind: 'accepted', principal: testPrincipal('ana') }),
            prepareLogin: async () => ({
              kind: 'ready',
              login: { role: 'ana', password: 'secret', version: '1' },
            }),
          },
        },
      )
      const client = new pg.Client({
        host: '127.0.0.1',
        port: gateway.port,
        user: 'ana@example.com',
        password: 'a token',
        database: 'd',
      })
      try {
        await assert.rejects(client.connect(), { code: '08P01' })
        assert.ok(server.proofs <= 1, `${server.proofs} proofs`)
      } finally {
        await gateway.close(0)
      }
    },
  )

  clause(
    'GATE-311',
    'A database that asks a role for SCRAM with fewer than 4096 rounds gets no proof of its password: 28000,…',
    async () => {
      await using target = await createMaskedDatabase()
      const countProofs = async (rounds: number | string, allowWeakLogin: boolean) => {
        using server = await startScramServer({ rounds, times: 1 })
        const gateway = await openBareGateway(target.database, `postgres://127.0.0.1:${server.port}/d`, {
          allowWeakLogin,
        })
        const client = new pg.Client({
          host: '127.0.0.1',
          port: gateway.port,
          user: 'clerk',
          password: 'sunshine1',
          database: 'd',
        })
        client.on('error', () => {})
        const failed = client.connect().then(
          () => 'let in',
          (error: { code?: string }) => error.code ?? 'cut',
        )
        let isOver = false
        void failed.then(() => {
          isOver = true
        })
        try {
          const isProven = async () => server.proofs > 0 || isOver
          const ended = await Promise.race([failed, waitUntil('a proof', isProven).then(() => 'proven')])
          return [ended, server.proofs]
        } finally {
          await gateway.close(0)
        }
      }
      for (const rounds of [1, 4095, '04096,i=1', '1,i=4096', '-4096', ''])
        assert.deepEqual(await countProofs(rounds, false), ['28000', 0], `${rounds} rounds`)
      assert.deepEqual(await countProofs(4096, false), ['proven', 1])
      assert.deepEqual(await countProofs(4095, true), ['proven', 1], 'where weak logins are allowed')
    },
  )

  it('has the settings kept that the gateway reads by, and no others', () => {
    const reader = new TextReader(
      new Map([
        ['one', 'x'],
        ['client_encoding', 'UTF8'],
      ]),
    )
    reader.setParameter('two', 'x')
    reader.setParameter('application_name', 'pg_dump')
    const kept = ['one', 'two', 'client_encoding', 'application_name'].map((name) =>
      reader.getParameter(name),
    )
    assert.deepEqual(kept, [undefined, undefined, 'UTF8', 'pg_dump'])
  })
})
