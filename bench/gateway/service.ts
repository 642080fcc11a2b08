// The whole service with its gateway, as a process of its own: its store and the masked database are on the same server.
// Takes the address of the masked database; settings come from the environment. Says its port when masks are in place.
// Nothing here may import node:test, whose hooks make every write to a socket dearer.
import { join } from 'node:path'
import { openLog } from '../../src/cli/log.ts'
import { startService } from '../../src/main.ts'
import { readSettings } from '../../src/settings.ts'
import { createTokens } from '../../test/support/tokens.ts'

const [, , url = '', name = ''] = process.argv
const settings = readSettings(process.env)
const { log } = openLog({ ...settings, logFile: join(settings.dataDir, 'bench.log') })
const service = await startService({ settings, log })
const tokens = await createTokens(service)
const token = tokens.tokenFor({ role: 'Owner' })
await tokens.settled()

const place = `/subscriptions/bench/resourceGroups/bench/providers/Vendor.Sql/servers/bench/databases/${name}`
const put = async (path: string, properties: unknown) => {
  const response = await fetch(
    `http://127.0.0.1:${service.listeners.httpPort}${path}?api-version=2014-04-01`,
    {
      method: 'PUT',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ properties }),
    },
  )
  if (response.status >= 300) throw new Error(await response.text())
  return response.headers.get('x-masquerade-enforcement')
}
const { hostname, port, username, password } = new URL(url)
const binding = { host: hostname, port: Number(port), database: name, user: username, password }
await put(place, { binding })
for (const [columnName, maskingFunction] of [
  ['email', 'Email'],
  ['balance', 'Default'],
]) {
  const rule = { schemaName: 'public', tableName: 'account', columnName, maskingFunction }
  const state = await put(`${place}/dataMaskingPolicies/Default/rules/${columnName}`, rule)
  if (state !== 'Enforced') throw new Error(`the mask of ${columnName} is ${state}`)
}
const { port: gatewayPort, processes } = service.gateway
process.send?.({ port: gatewayPort, pids: processes })
process.once('disconnect', () => void service.stop().then(() => process.exit()))
