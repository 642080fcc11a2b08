import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const checkout = join(import.meta.dirname, '../..')

function git(...args: string[]): string {
  return spawnSync('git', ['-C', checkout, ...args], { encoding: 'utf8' }).stdout ?? ''
}

/** The newest release that this checkout descends from: its tag, or its commit where tags were not fetched. */
export function findLastRelease(): string | undefined {
  const tags = git('tag', '--list', 'v*', '--merged', 'HEAD', '--sort=-version:refname').split('\n')
  const [commit] = git('log', '-1', '--format=%H', '--grep=^Release [0-9]').split('\n')
  return tags.find((tag) => /^v\d+\.\d+\.\d+$/.test(tag)) ?? (commit || undefined)
}

/** The commit of a release; undefined where this checkout has no history. */
export function findRelease(version: string): string | undefined {
  return git('log', '--format=%H', `--grep=^Release ${version}$`).split('\n')[0] || undefined
}

export interface Release extends Disposable {
  /** The file that runs its command line. */
  readonly program: string
  /** Names of its migrations. */
  readonly migrations: readonly string[]
}

/** The sources of a tag in a folder of their own, over the packages of this checkout. It has no portal: the load asks for no page. */
export function unpackRelease(tag: string): Release {
  const folder = mkdtempSync(join(tmpdir(), 'masquerade-release-'))
  const archive = execFileSync('git', ['-C', checkout, 'archive', '--format=tar', tag], {
    maxBuffer: 256 * 1024 * 1024,
  })
  execFileSync('tar', ['-x', '-C', folder], { input: archive })
  rmSync(join(folder, 'portal'), { recursive: true, force: true })
  symlinkSync(join(checkout, 'node_modules'), join(folder, 'node_modules'))
  return {
    program: join(folder, 'src/cli/main.ts'),
    migrations: readdirSync(join(folder, 'sql')).filter((name) => /^\d/.test(name)),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}
