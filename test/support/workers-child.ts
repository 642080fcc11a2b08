import type { Database } from '../../src/db/database.ts'
import { openBareGateway } from './bare-gateway.ts'

/** A gateway with two workers in a process that can be killed. Prints the ids of the workers. */
const gateway = await openBareGateway({} as Database, 'postgres://127.0.0.1:1/none', {}, {}, { workers: 2 })
process.stdout.write(`${gateway.processes.join(' ')}\n`)
