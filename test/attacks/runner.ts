import type { Gateway } from '../../src/gateway/gateway.ts'
import { openBareGateway } from '../support/bare-gateway.ts'
import type { ClusterName } from '../support/cluster.ts'
import type { Attack } from './attack.ts'
import { findTrace } from './canaries.ts'
import { createScene, type Scene } from './scene.ts'
import type { Attacker, Heard, Mode } from './session.ts'

/** A way in to PostgreSQL. `schemas`: where the statements look for the tables. */
export interface Way {
  readonly name: string
  readonly isDirect: boolean
  readonly mode: Mode
  readonly plays: (attack: Attack) => boolean
}

const all = () => true
const isRead = ({ clauses }: Attack) => clauses.includes('ENF-01') || clauses.includes('ENF-02')
export const direct: Way = { name: 'directly', isDirect: true, mode: {}, plays: all }
const binary: Way = {
  name: 'through the gateway, by the extended protocol in binary',
  isDirect: false,
  mode: { queryMode: 'extended', binary: true },
  plays: all,
}
const ways: readonly Way[] = [
  direct,
  { name: 'through the gateway, by the simple protocol', isDirect: false, mode: {}, plays: all },
  {
    name: 'through the gateway, by the extended protocol',
    isDirect: false,
    mode: { queryMode: 'extended' },
    plays: all,
  },
  binary,
]

/** `npm test` plays each case once, and reads in binary too; `npm run test:all` each in every way. */
export function listWays(): readonly Way[] {
  return process.env.MASQUERADE_TEST_ALL ? ways : [direct, { ...binary, plays: isRead }]
}

/** What PostgreSQL says when something is not allowed, not there, or not sensible; never that something broke. */
const clean = /^(0A|2[1-9B]|3[348F]|42|55|P0)/

export class Stage {
  readonly #scene: Scene
  readonly #gateway: Gateway

  private constructor(scene: Scene, gateway: Gateway) {
    this.#scene = scene
    this.#gateway = gateway
  }

  static async open(cluster: ClusterName): Promise<Stage> {
    const scene = await createScene(cluster)
    return new Stage(scene, await openBareGateway(scene.target.database, scene.target.url))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#gateway.close(0)
    await this.#scene.target[Symbol.asyncDispose]()
  }

  mask(): Promise<void> {
    return this.#scene.mask()
  }

  /** What is wrong, a line each. The exempt auditor plays the same, to show that the case can find something. */
  async play(attacks: readonly Attack[], { isDirect, mode, plays }: Way): Promise<string[]> {
    const port = isDirect ? undefined : this.#gateway.port
    const analyst = await this.#scene.openAttacker('analyst', mode, port)
    const auditor = await this.#scene.openAttacker('auditor', mode, port)
    const wrong: string[] = []
    for (const attack of attacks) {
      if (attack.since > this.#scene.major || !plays(attack)) continue
      // Only through the gateway do the names of the tables lead to their twins.
      const schemas =
        isDirect && JSON.stringify(attack).includes('{S}') ? ['public', 'masked_public'] : ['public']
      const found = await Promise.all([
        attackBy(analyst, attack, schemas),
        isBlind(attack, mode) ? [] : checkControl(auditor, attack),
      ])
      wrong.push(...found.flat().map((line) => `${attack.id}: ${line}`))
    }
    await analyst.end()
    await auditor.end()
    return wrong
  }
}

function isBlind({ blindIn }: Attack, { queryMode, binary: isBinary }: Mode): boolean {
  return blindIn === 'binary' ? isBinary === true : blindIn === queryMode && queryMode !== undefined
}

async function attackBy(analyst: Attacker, attack: Attack, schemas: readonly string[]): Promise<string[]> {
  const wrong: string[] = []
  for (const schema of schemas) {
    const heard = await analyst.attack([...attack.prepare, ...attack.run], schema)
    const trace = findTrace(heard.text, heard.bytes, attack.tell)
    if (trace !== undefined) wrong.push(`${schema} shows ${trace}: ${heard.text.slice(0, 2000)}`)
    wrong.push(...checkFailures(heard, attack).map((line) => `${schema}: ${line}`))
  }
  return wrong
}

function checkFailures({ failures }: Heard, { prepare, run, isDenied }: Attack): string[] {
  const broken = failures
    .filter(({ code }) => !clean.test(code ?? ''))
    .map(({ message }) => `broke: ${message}`)
  if (!isDenied) return broken
  const denied = failures.filter(({ code }) => code === '42501' || code === '42P01')
  if (denied.length === run.length && failures.length === run.length) return broken
  const said = failures.map(({ code, message }) => `${code} ${message}`).join('; ')
  return [...broken, `not each of ${run.length} statements after ${prepare.length} is denied: ${said}`]
}

async function checkControl(auditor: Attacker, { prepare, exempt, tell }: Attack): Promise<string[]> {
  if (!exempt) return []
  const { text, bytes } = await auditor.attack([...prepare, ...exempt], 'public')
  return findTrace(text, bytes, tell) === undefined ? [`has no teeth: ${text.slice(0, 2000)}`] : []
}
