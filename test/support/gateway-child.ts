// A gateway by itself before one database, for tests that kill it. Prints its port.
import { openDatabase } from '../../src/db/database.ts'
import { openBareGateway } from './bare-gateway.ts'

const [url = ''] = process.argv.slice(2)
const { port } = await openBareGateway(openDatabase({ url, poolSize: 2 }), url)
process.stdout.write(`port ${port}\n`)
