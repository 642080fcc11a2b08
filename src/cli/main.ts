import { run } from './run.ts'
import { tolerateClosedOutput } from './surroundings.ts'

tolerateClosedOutput()
process.exitCode = await run(process.argv.slice(2))
