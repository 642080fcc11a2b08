import { version } from '../version.ts'
import { type Command, readArgs } from './command.ts'
import { report } from './surroundings.ts'

const options = { json: { type: 'boolean' } } as const

export const versionCommand: Command = {
  name: 'version',
  summary: 'Print the version',
  help: 'Usage: masquerade version [--json]\n\nPrints the version of Masquerade and of the Node it runs on.',
  options,
  async run(args) {
    const { values } = readArgs('version', args, { options })
    const { node } = process.versions
    report(values, { version, node }, `masquerade ${version} (node ${node})\n`)
    return 0
  },
}
