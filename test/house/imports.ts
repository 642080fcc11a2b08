import { posix } from 'node:path'
import type { SourceFile } from './tree.ts'

export type Import = { specifier: string; typeOnly: boolean }

const statement = /^\s*(?:import|export)\s+(type\s+)?(?:[\w$*\s,{}]+\sfrom\s+)?['"]([^'"]+)['"]/gm
const call = /\bimport\(\s*['"`]([^'"`]+)['"`]/g

export function listImports(text: string): Import[] {
  const statements = [...text.matchAll(statement)].map((match) => ({
    specifier: match[2] ?? '',
    typeOnly: match[1] !== undefined,
  }))
  const calls = [...text.matchAll(call)].map((match) => ({ specifier: match[1] ?? '', typeOnly: false }))
  return [...statements, ...calls]
}

/** A room of src/ and the rooms it may look into. Files directly in src/ are rooms of their own. */
export const directions: Record<string, readonly string[] | 'everything'> = {
  kernel: [],
  db: ['kernel'],
  auth: ['db', 'kernel'],
  api: ['auth', 'db', 'kernel'],
  masking: ['contracts', 'api', 'auth', 'db', 'kernel'],
  directory: ['api', 'auth', 'db', 'kernel'],
  issuer: ['directory', 'api', 'auth', 'db', 'kernel'],
  http: ['api', 'auth', 'db', 'kernel'],
  contracts: ['kernel'],
  sessions: ['contracts', 'db', 'kernel'],
  masks: ['sessions', 'contracts', 'sql', 'db', 'kernel'],
  logins: ['masks', 'sessions', 'contracts', 'db', 'kernel'],
  findings: ['masks', 'sessions', 'contracts', 'sql', 'db', 'kernel'],
  containment: ['masks', 'contracts', 'db', 'kernel'],
  sql: ['kernel'],
  wire: ['kernel'],
  gateway: ['wire', 'sql', 'contracts', 'db', 'kernel'],
  portal: ['kernel'],
  'settings.ts': ['kernel'],
  'version.ts': [],
  'describe-service.ts': 'everything',
  'open-containment.ts': 'everything',
  'open-credentials.ts': 'everything',
  'open-enforcement.ts': 'everything',
  'open-gateway.ts': 'everything',
  'open-http.ts': 'everything',
  'open-tracing.ts': 'everything',
  'revocation-ports.ts': 'everything',
  'main.ts': 'everything',
  'service.ts': 'everything',
  'http-worker.ts': 'everything',
  'http-workers.ts': 'everything',
  cli: 'everything',
  sample: 'everything',
}

/** The imports of src/ and portal/ that point the wrong way, one line each. */
export function findWrongImports(files: SourceFile[]): string[] {
  return files.flatMap((file) =>
    listImports(file.text)
      .filter((one) => one.specifier.startsWith('.'))
      .map((one) => explainWrongImport(file.path, one))
      .filter((line) => line !== undefined),
  )
}

function explainWrongImport(path: string, one: Import): string | undefined {
  const target = posix.join(posix.dirname(path), one.specifier)
  const says = `${path} imports ${target}`
  if (path.startsWith('portal/')) return target.startsWith('portal/') ? undefined : says
  if (!target.startsWith('src/')) return target === 'package.json' ? undefined : `${says}, outside of src/`
  const [from, to] = [roomOf(path), roomOf(target)]
  const allowed = directions[from]
  if (allowed === undefined) return `${path} is in '${from}', which has no place in the table of directions`
  if (directions[to] === undefined) return `${says}: '${to}' has no place in the table of directions`
  if (from === to || allowed === 'everything') return undefined
  if (to === 'version.ts' || (to === 'settings.ts' && one.typeOnly)) return undefined
  return allowed.includes(to) ? undefined : `${says}: '${from}' may not look into '${to}'`
}

function roomOf(path: string): string {
  return path.split('/')[1] ?? ''
}

/** The sub-rooms of `src/masks`, the lowest first: those before look into none of those after. `turn` is its own files. */
const layers = ['read', 'plan', 'apply', 'turn', 'control']

/** Files of `src/masks` itself: what a turn is made of lies above, the words of all below. */
const layerOf: Readonly<Record<string, string>> = {
  'run.ts': 'turn',
  'turn.ts': 'turn',
}

/** The imports among the sub-rooms of `src/masks` that point upward, one line each. */
export function findUpwardImports(files: readonly SourceFile[]): string[] {
  const rankOf = (path: string) => {
    const [, , name = '', file] = path.split('/')
    return layers.indexOf(file === undefined ? (layerOf[name] ?? '') : name)
  }
  const isInside = (path: string) => path.startsWith('src/masks/')
  return files
    .filter(({ path }) => isInside(path))
    .flatMap((file) =>
      listTargets(file)
        .filter((target) => isInside(target) && rankOf(target) > rankOf(file.path))
        .map((target) => `${file.path} imports ${target}`),
    )
}

/** The circles of imports among files, each as the files on it; imports of types count like all others. */
export function findCircles(files: readonly SourceFile[]): string[] {
  const imports = new Map(files.map((file) => [file.path, listTargets(file)]))
  const done = new Set<string>()
  const circles: string[] = []
  const visit = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path)
    if (start >= 0) circles.push([...trail.slice(start), path].join(' → '))
    if (start >= 0 || done.has(path)) return
    for (const target of imports.get(path) ?? []) visit(target, [...trail, path])
    done.add(path)
  }
  for (const path of imports.keys()) visit(path, [])
  return circles
}

function listTargets({ path, text }: SourceFile): string[] {
  return listImports(text)
    .filter(({ specifier }) => specifier.startsWith('.'))
    .map(({ specifier }) => posix.join(posix.dirname(path), specifier))
}
