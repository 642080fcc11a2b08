// Membership writes as those of another node: a process of its own that adds members through the change log and removes
// them again, so many times a second, from `start` to `stop` on standard input. Its first line there is the plan as JSON.
// Prints a line when it is ready and warm: it shares the machine with what is measured.
import { createInterface } from 'node:readline'
import { appendChanges } from '../src/db/change-log.ts'
import { openDatabase } from '../src/db/database.ts'

export interface WritePlan {
  readonly url: string
  readonly tenantId: string
  readonly users: readonly string[]
  readonly groups: readonly string[]
  readonly writesPerSecond: number
}

function createWriter({ url, tenantId, users, groups }: WritePlan) {
  const database = openDatabase({ url, poolSize: 2 })
  const added: { container: string; member: string }[] = []
  let turn = 0
  const add = (container: string, member: string) =>
    database.transaction(async (tx) => {
      const { count } = await tx`
        insert into member_edge (tenant_id, container_id, member_id) values (${tenantId}, ${container}, ${member})
        on conflict do nothing`
      if (count === 0) return
      const data = { id: member }
      await appendChanges(tx, tenantId, [{ entity: 'group', entityId: container, kind: 'memberAdded', data }])
      added.push({ container, member })
    })
  const remove = ({ container, member }: { container: string; member: string }) =>
    database.transaction(async (tx) => {
      await tx`
        delete from member_edge where tenant_id = ${tenantId} and container_id = ${container}
          and member_id = ${member}`
      const data = { id: member }
      await appendChanges(tx, tenantId, [
        { entity: 'group', entityId: container, kind: 'memberRemoved', data },
      ])
    })
  return async () => {
    const removed = turn++ % 2 === 1 ? added.shift() : undefined
    if (removed) await remove(removed)
    else await add(groups[turn % groups.length] ?? '', users[turn % users.length] ?? '')
  }
}

const lines = createInterface(process.stdin)[Symbol.asyncIterator]()
const plan = JSON.parse((await lines.next()).value ?? 'null') as WritePlan
const write = createWriter(plan)
for (let turn = 0; turn < 300; turn++) await write()
console.log('ready')
let timer: NodeJS.Timeout | undefined
for (let line = await lines.next(); !line.done; line = await lines.next())
  if (line.value === 'start') timer = setInterval(() => void write(), 1000 / plan.writesPerSecond)
  else clearInterval(timer)
process.exit(0)
