import assert from 'node:assert/strict'
import { after, describe } from 'node:test'
import { clause } from '../../support/clause.ts'
import { useGateway } from '../../support/gateway.ts'
import { bindingOf, createMaskedDatabase } from '../../support/masked-database.ts'

describe('the name of a database', () => {
  const made: AsyncDisposable[] = []
  after(async () => {
    for (const each of made) await each[Symbol.asyncDispose]()
  })
  const gateway = useGateway()
  /** What PostgreSQL calls the database that is behind this name. */
  const find = async (database: string): Promise<string> => {
    const client = await gateway.connect('analyst', { database })
    const { rows } = await client.query('select current_database()')
    await client.end()
    return rows[0].current_database
  }
  /** Binds another database under the same name. */
  const bind = async (group: string, server: string): Promise<string> => {
    const target = await createMaskedDatabase()
    made.push(target)
    const path = gateway.db.replace('Group-1', group).replace('/Srv/', `/${server}/`)
    await gateway.masking.send('PUT', path.replace(/\/databases\/.*/, ''), {})
    const binding = bindingOf(target.url)
    const { status, text } = await gateway.masking.send('PUT', path, { properties: { binding } })
    assert.equal(status, 201, text)
    return binding.database
  }

  clause(
    'GATE-62',
    'A name that several bound databases have is refused (3D000) and the error says how to name one of them: as…',
    async () => {
      const { name } = gateway
      const first = bindingOf(gateway.masked().url).database
      assert.equal(await find(name), first)
      const second = await bind('Group-1', 'other')
      await assert.rejects(find(name), {
        code: '3D000',
        message: `several databases are called "${name}"; connect to one of them as server/database`,
      })
      assert.equal(await find(`srv/${name}`), first)
      assert.equal(await find(`OTHER/${name.toUpperCase()}`), second)

      const third = await bind('Group-2', 'Srv')
      await assert.rejects(find(`srv/${name}`), {
        code: '3D000',
        message: `several databases are called "srv/${name}"; connect to one of them as group/server/database`,
      })
      assert.equal(await find(`group-1/srv/${name}`), first)
      assert.equal(await find(`other/${name}`), second)
      assert.equal(await find(`sub-1/Group-2/srv/${name}`), third)

      const wrong = ['nothere', `group-3/srv/${name}`, `x/sub-1/group-2/srv/${name}`, `/${name}`, `${name}/`]
      for (const each of wrong)
        await assert.rejects(find(each), {
          code: '3D000',
          message: `database "${each}" is not bound to this gateway; name it as database or server/database`,
        })
    },
  )
})
