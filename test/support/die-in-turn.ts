import { openDatabase } from '../../src/db/database.ts'
import { takeTurn } from '../../src/masks/turn.ts'

// Takes a turn and ends as a crash does, before one of its statements. Run: node die-in-turn.ts URL POLICY STATEMENT
const [url = '', wanted = '{}', at = ''] = process.argv.slice(2)
let step = 0
await takeTurn(openDatabase({ url, poolSize: 2, searchPath: 'public' }), JSON.parse(wanted), {
  beforeStep() {
    if (step++ === Number(at)) process.kill(process.pid, 'SIGKILL')
  },
})
process.exit(0)
