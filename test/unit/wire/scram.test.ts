import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ScramClient, ScramServer, writeVerifier } from '../../../src/wire/scram.ts'
import { clause } from '../../support/clause.ts'

/** The exchange that RFC 7677 prints. */
const nonce = 'rOprNGfwEbeRWgbNEkqO'
const serverNonce = `${nonce}%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0`
const serverFirst = `r=${serverNonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096`
const serverFinal = 'v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4='

describe('a login by SCRAM-SHA-256', () => {
  const begin = () => new ScramClient('pencil', 'user', nonce)

  clause(
    'GATE-02',
    'The gateway logs in as a login role by SCRAM-SHA-256 only, and drops a server that cannot…',
    async () => {
      const client = begin()
      assert.equal(client.first(), `n,,n=user,r=${nonce}`)
      assert.equal(
        await client.proof(serverFirst),
        `c=biws,r=${serverNonce},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=`,
      )
      client.verify(serverFinal)
      for (const final of ['v=', '', 'e=other-error', serverFinal.replace('6rri', '6rrI')])
        assert.throws(() => client.verify(final), /did not prove/, final)
      assert.throws(() => begin().verify(serverFinal), /did not prove/, 'before a proof')
    },
  )

  test('a server that changes the terms is refused', async () => {
    for (const [first, message] of [
      [serverFirst.replace(nonce, 'another'), /malformed/],
      [serverFirst.replace(serverNonce, nonce), /malformed/],
      [serverFirst.replace(/s=[^,]*/, 's='), /malformed/],
      [serverFirst.replace('4096', '1'), /unusual/],
      [serverFirst.replace('4096', '4095'), /unusual/],
      [serverFirst.replace('4096', '999999999'), /unusual/],
      [serverFirst.replace('4096', '4096x'), /unusual/],
      [`m=ext,${serverFirst}`, /unusual/],
      ['', /malformed/],
    ] as const)
      await assert.rejects(begin().proof(first), message, first)
  })

  test('every login has a nonce of its own', () => {
    assert.notEqual(new ScramClient('x').first(), new ScramClient('x').first())
  })

  test('a verifier has the form in which PostgreSQL stores it', () => {
    const salt = Buffer.from('W22ZaJ0SNY7soEsUEjb6gQ==', 'base64')
    assert.equal(
      writeVerifier('pencil', salt),
      'SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=',
    )
  })
})

test('the server lets in the client that knows the password, proves itself, and refuses every other proof', async () => {
  const verifier = writeVerifier('secret', Buffer.alloc(16, 5))
  const meet = async (password: string, change: (proof: string) => string = (proof) => proof) => {
    const [client, server] = [new ScramClient(password), new ScramServer(verifier)]
    const proof = await client.proof(server.first(client.first()))
    return { client, final: server.final(change(proof)) }
  }
  const { client, final } = await meet('secret')
  client.verify(final ?? '')
  assert.equal((await meet('Secret')).final, undefined)
  for (const change of [
    (proof: string) => proof.replace('r=', 'r=x'),
    (proof: string) => proof.replace('c=biws', 'c=eSws'),
    (proof: string) => proof.slice(0, -4),
    () => '',
  ])
    assert.equal((await meet('secret', change)).final, undefined)
  for (const first of ['', 'n,,', 'p=tls-unique,,n=,r=x', 'n,,r=x'])
    assert.throws(() => new ScramServer(verifier).first(first))
})
