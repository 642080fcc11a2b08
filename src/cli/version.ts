import { version } from '../version.ts'
import type { Command } from './command.ts'

export const versionCommand: Command = {
  name: 'version',
  summary: 'Print the version',
  help: 'Usage: masquerade version\n\nPrints the version of Masquerade and of the Node it runs on.',
  async run() {
    process.stdout.write(`masquerade ${version} (node ${process.versions.node})\n`)
    return 0
  },
}
