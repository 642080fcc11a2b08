import { spawnSync } from 'node:child_process'
import { chmod, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bareEnvironment, type Packed, type Running, start } from './package.ts'

export const containerfile = join(import.meta.dirname, '../../deploy/Containerfile')

export interface Recipe {
  /** The commands of all stages, in their order. */
  readonly build: readonly string[]
  readonly settings: Readonly<Record<string, string>>
  readonly user: string
  readonly group: string
  readonly workdir: string
  readonly volume: string
  readonly command: readonly string[]
  /** The program of the health check, with its arguments. */
  readonly health: readonly string[]
}

/** The instructions of our Containerfile; it throws where one is missing. */
export async function readRecipe(): Promise<Recipe> {
  const lines = (await readFile(containerfile, 'utf8'))
    .split('\n')
    .filter((line) => !/^\s*(#|$)/.test(line))
    .join('\n')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
  const all = (word: string) =>
    lines.filter((line) => line.startsWith(`${word} `)).map((line) => line.slice(word.length + 1))
  const one = (word: string) => {
    const text = all(word).at(-1)
    if (text === undefined) throw new Error(`the Containerfile has no ${word}`)
    return text
  }
  const [user = '', group = ''] = one('USER').split(':')
  const assignments = [...one('ENV').matchAll(/(\w+)=(\S+)/g)]
  return {
    build: all('RUN'),
    settings: Object.fromEntries(assignments.map(([, name, value]) => [name, value])),
    user,
    group,
    workdir: one('WORKDIR'),
    volume: one('VOLUME'),
    command: [...JSON.parse(one('ENTRYPOINT')), ...JSON.parse(one('CMD'))],
    health: JSON.parse(one('HEALTHCHECK').replace(/^.*? CMD /, '')),
  }
}

/** Whether this user may make mounts of its own and change its root. */
export function canChangeRoot(): boolean {
  return process.getuid?.() === 0 && spawnSync('unshare', ['--mount', 'true']).status === 0
}

export interface Root {
  readonly folder: string
  /** Stands for the volume. */
  readonly data: string
  [Symbol.asyncDispose](): Promise<void>
}

/** What both scripts begin with: this machine's system, read-only, in place of the base image, and Node 24 in /usr/local. */
const assembleRoot = `
  set -e
  mount --bind "$ROOT" "$ROOT"
  cd "$ROOT"
  for name in bin sbin lib lib64 share; do
    if [ -d "/usr/$name" ]; then
      mkdir -p "usr/$name"
      mount --bind "/usr/$name" "usr/$name"
      mount -o remount,bind,ro "usr/$name"
    fi
  done
  mkdir -p usr/local/bin usr/local/lib/node_modules/npm npm-cache
  touch usr/local/bin/node
  mount --bind "$NODE" usr/local/bin/node
  mount --bind "$NPM" usr/local/lib/node_modules/npm
  ln -sf ../lib/node_modules/npm/bin/npm-cli.js usr/local/bin/npm
  mount --rbind /dev dev
  mount --rbind /proc proc
`

/** Runs the build's commands as root inside of a new root. All stages share it, so that nothing has to be copied. */
export async function buildRoot({ file }: Packed, { build }: Recipe): Promise<Root> {
  const folder = await mkdtemp(join(tmpdir(), 'masquerade-root-'))
  const data = await mkdtemp(join(tmpdir(), 'masquerade-volume-'))
  await layOut(folder)
  await cp(file, join(folder, 'tmp/masquerade.tgz'))
  const script = `${assembleRoot}
    mount --bind "$CACHE" npm-cache
    if [ -f "$CA" ]; then cp "$CA" etc/ca.pem; export npm_config_cafile=/etc/ca.pem; fi
    export PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/root
    export npm_config_cache=/npm-cache npm_config_prefer_offline=true
    exec chroot . sh -ec "$1"`
  const built = enter(folder, script, [build.join('\n')])
  const root: Root = {
    folder,
    data,
    async [Symbol.asyncDispose]() {
      await rm(folder, { recursive: true, force: true })
      await rm(data, { recursive: true, force: true })
    },
  }
  if ((await built.ended) === 0) return root
  await root[Symbol.asyncDispose]()
  throw new Error(`the build failed: ${built.seen.out}${built.seen.errors}`)
}

/** Starts the image's command as its user, without privileges, over the root made read-only. */
export async function runInRoot(
  { folder, data }: Root,
  { settings, user, group, workdir, volume, command }: Recipe,
  more: Readonly<Record<string, string>>,
): Promise<Running> {
  const script = `${assembleRoot}
    chown "$OWNER" "$DATA"
    mount --bind "$DATA" ".$VOLUME"
    mount -t tmpfs -o mode=1777 tmpfs tmp
    mount -o remount,bind,ro .
    if touch opt/written 2>/dev/null; then echo 'the root can be written to' >&2; exit 1; fi
    exec chroot . setpriv --reuid="\${OWNER%:*}" --regid="\${OWNER#*:}" --clear-groups --no-new-privs \
      --inh-caps=-all --bounding-set=-all env -i -C "$WORKDIR" "$@"`
  const environment = Object.entries({ HOME: volume, ...settings, ...more }).map((pair) => pair.join('='))
  return enter(folder, script, [...environment, ...command], {
    DATA: data,
    OWNER: `${user}:${group}`,
    VOLUME: volume,
    WORKDIR: workdir,
  })
}

function enter(folder: string, script: string, args: readonly string[], more: Record<string, string> = {}) {
  const ask = (...words: string[]) => spawnSync('npm', words, { encoding: 'utf8' }).stdout.trim()
  return start(['unshare', '--mount', 'sh', '-c', script, 'sh', ...args], folder, {
    ...bareEnvironment(folder),
    ROOT: folder,
    NODE: process.execPath,
    NPM: join(ask('root', '--global'), 'npm'),
    CACHE: ask('config', 'get', 'cache'),
    CA: ask('config', 'get', 'cafile'),
    ...more,
  })
}

/** The parts of the base image that a build adds to, or that its programs read. */
async function layOut(folder: string): Promise<void> {
  await chmod(folder, 0o755)
  for (const name of ['etc', 'tmp', 'dev', 'proc', 'var/lib', 'usr', 'root', 'opt'])
    await mkdir(join(folder, name), { recursive: true })
  await writeFile(join(folder, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\n')
  await writeFile(join(folder, 'etc/group'), 'root:x:0:\n')
  for (const name of ['shadow', 'gshadow']) await writeFile(join(folder, 'etc', name), '')
  for (const name of ['resolv.conf', 'hosts', 'nsswitch.conf', 'login.defs', 'ssl', 'ca-certificates'])
    await cp(join('/etc', name), join(folder, 'etc', name), { recursive: true, dereference: true }).catch(
      () => {},
    )
  for (const name of ['bin', 'sbin', 'lib', 'lib64']) await symlink(`usr/${name}`, join(folder, name))
}
