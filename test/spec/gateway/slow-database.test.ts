import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { clause } from '../../support/clause.ts'
import { useGateway } from '../../support/gateway.ts'
import { bindingOf, createMaskedDatabase } from '../../support/masked-database.ts'
import { freshDatabase } from '../../support/masking.ts'
import { type Network, openNetwork } from '../../support/network.ts'
import { bringPeople, endedBy } from '../../support/people.ts'
import { waitUntil } from '../../support/wait-until.ts'

describe('a bound database that does not answer any more', () => {
  const gateway = useGateway()
  let network: Network
  let slow: Awaited<ReturnType<typeof createMaskedDatabase>>
  before(async () => {
    slow = await createMaskedDatabase()
    network = await openNetwork(slow.url)
  })
  after(async () => {
    network.close()
    await slow[Symbol.asyncDispose]()
  })

  clause(
    'GATE-14',
    'A principal that loses the group, the mapping or the account that its login rests on loses…',
    async () => {
      const { masking } = gateway
      const people = await bringPeople(gateway)
      const group = await people.directory.group()
      await people.map(group)
      const ana = await people.user(group)
      const binding = { ...bindingOf(slow.url), port: network.address.port }
      const db = freshDatabase()
      assert.equal((await masking.send('PUT', db, { properties: { binding } })).status, 201)
      await masking.putPolicy(db, { dataMaskingState: 'Enabled', exemptPrincipals: group })
      const client = await people.connect(ana.name, ana.token)

      for (const line of network.lines) line.pause().unpipe()
      await people.directory.join((await people.user()).id, group)
      const isAsked = () => [...network.lines].some((line) => line.readableLength > 0)
      await waitUntil('the follower is at the silent database', isAsked)

      const leave = () => people.leave(group, ana.id)
      assert.equal(await endedBy(client, 4_000, leave), '57P01')
    },
  )
})
