import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { quoteArgument } from './quote-argument.ts'

const isPackage = import.meta.filename.endsWith('.js')

/** How this program is started on a command line. Outside of a checkout, npx would ask the registry for the name. */
export const ownCommand = isPackage ? describePackaged() : 'npx masquerade'

/** The command line that starts the service. */
export const startCommand = isPackage ? `${ownCommand} serve` : 'npm start'

/** npm links commands into `.bin` beside the package; a global installation has them on PATH. */
function describePackaged(): string {
  const linked = join(import.meta.dirname, '../../../../.bin/masquerade')
  return existsSync(linked) ? quoteArgument(linked) : 'masquerade'
}
