import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { importDirectory } from '../directory/transfer/import-directory.ts'
import { type ImportCounts, ImportFailed, maxFaults } from '../directory/transfer/import-result.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import { listGivenRights } from '../masking/given-rights.ts'
import { type Command, readArgs, type ValuesOf } from './command.ts'
import { type OperatorAccess, openOperatorAccess } from './operator.ts'
import { type Progress, showProgress } from './progress.ts'
import { currentSettings, report, warn } from './surroundings.ts'

const options = { json: { type: 'boolean' } } as const

export const importCommand: Command = {
  name: 'import',
  summary: 'Read users, groups, memberships and extensions from files',
  help: `
Usage: masquerade import FILE [FILE …]

Each file has one JSON object to a line. Properties have the names of the API; ids are GUIDs of your own choice, and an
object that nothing refers to needs none.

  {"type":"user","id":"…","displayName":"…","userPrincipalName":"…","mailNickname":"…","accountEnabled":true}
  {"type":"group","id":"…","displayName":"…","mailNickname":"…","mailEnabled":false,"securityEnabled":true}
  {"type":"member","group":"<id>","member":"<id>"}
  {"type":"owner","object":"<id>","owner":"<id>"}
  {"type":"roleMember","roleTemplateId":"<id>","member":"<id>"}
  {"type":"extension","object":"<id>","extensionName":"…","applicationId":"<id>","data":{…}}

Also servicePrincipal, application, orgContact, device, directoryRole, extensionProperty and schemaExtension: what
'masquerade export' writes. A file is imported whole or not at all; what is wrong in it is listed by line, up to
${maxFaults} faults. It works for the user who can read the data directory, while the database runs.`,
  options,
  async run(args) {
    const { values, positionals: files } = readArgs('import', args, { options, allowPositionals: true })
    if (files.length === 0)
      throw new OperatorError("Name a file to import. See 'masquerade help import'.", { exitCode: 2 })
    await using access = await openOperatorAccess(currentSettings())
    for (const file of files) if (!(await importFile(access, file, values))) return 1
    return 0
  },
}

async function importFile(
  access: OperatorAccess,
  file: string,
  values: ValuesOf<typeof options>,
): Promise<boolean> {
  const size = await sizeOf(file)
  const progress = showProgress()
  try {
    const counts = await access.database.transaction((tx) =>
      importDirectory(tx, {
        tenantId: access.tenantId,
        fileName: basename(file),
        chunks: readFile(file, size, progress),
        listGivenRights,
        onProgress: (step, lines) => {
          if (step !== 'reading') progress.say(`${file}: ${step} ${lines.toLocaleString('en')} lines`)
        },
      }),
    )
    progress.end()
    report(values, { file, ...counts }, `${file}: imported ${inWords(counts)}.\n`)
    return true
  } catch (error) {
    progress.end()
    if (!(error instanceof ImportFailed)) throw error
    const lines = error.faults.map(({ line, reason }) => `${file}:${line}: ${reason}\n`)
    warn(`${lines.join('')}masquerade: ${error.message} Nothing was imported from it.\n`)
    return false
  }
}

async function sizeOf(file: string): Promise<number> {
  try {
    const found = await stat(file)
    if (!found.isDirectory()) return found.size
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new OperatorError(`${file} cannot be read (${code}).`, { cause })
  }
  throw new OperatorError(`${file} is a directory.`)
}

async function* readFile(file: string, size: number, progress: Progress): AsyncGenerator<Uint8Array> {
  let done = 0
  for await (const chunk of createReadStream(file, { highWaterMark: 256 * 1024 })) {
    done += chunk.length
    progress.say(`${file}: read ${size === 0 ? 100 : Math.floor((done / size) * 100)}%`)
    yield chunk
  }
}

const nouns: readonly (readonly [name: keyof ImportCounts, one: string, many: string])[] = [
  ['object', 'object', 'objects'],
  ['member', 'membership', 'memberships'],
  ['roleMember', 'role membership', 'role memberships'],
  ['owner', 'owner', 'owners'],
  ['extension', 'extension', 'extensions'],
  ['definition', 'definition', 'definitions'],
]

function inWords(counts: ImportCounts): string {
  const words = nouns.flatMap(([name, one, many]) => {
    const count = counts[name]
    return count === 0 ? [] : [`${count.toLocaleString('en')} ${count === 1 ? one : many}`]
  })
  return words.join(', ') || 'nothing: it is empty'
}
