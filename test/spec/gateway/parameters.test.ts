import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { useBareGateway } from '../../support/bare-gateway.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { openWireClient } from '../../support/wire-client.ts'

forEachCluster((cluster) => {
  describe('parameters that the server reports', () => {
    const urlOf = useBareGateway(cluster)

    const talk = async (url: string, parameters: Record<string, string>) => {
      const client = await openWireClient(url, parameters)
      const frames: string[] = []
      for (const text of [
        "set timezone = 'Asia/Tokyo'",
        "set datestyle = 'German'; set application_name = 'é'",
        "begin; set timezone = 'Europe/Vienna'",
        'rollback',
        "set local timezone = 'UTC'",
        "set client_encoding = 'latin1'",
        'reset all',
        "select set_config('intervalstyle', 'iso_8601', false)",
      ])
        frames.push(...(await client.simple(text)).frames.map((frame) => frame.toString('latin1')))
      await client.close()
      return { reported: Object.fromEntries(client.parameters), frames }
    }

    const startups: Record<string, Record<string, string>> = {
      'nothing else': {},
      'its own settings': {
        application_name: 'a test',
        client_encoding: 'latin1',
        datestyle: 'SQL, DMY',
        timezone: 'America/Lima',
        options: '-c intervalstyle=sql_standard -c standard_conforming_strings=off',
      },
    }
    for (const [name, parameters] of Object.entries(startups))
      test(`to a client that asks for ${name}: all of them, at login and later`, async () => {
        const expected = await talk(urlOf(false), parameters)
        assert.ok(Object.keys(expected.reported).length > 10)
        assert.ok(expected.frames.join('').includes('Asia/Tokyo'))
        assert.deepEqual(await talk(urlOf(true), parameters), expected)
      })
  })
})
