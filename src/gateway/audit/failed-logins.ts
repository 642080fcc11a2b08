import { nameNetwork } from '../../kernel/network.ts'
import type { RefusedLogin } from '../ports.ts'

interface Group {
  readonly login: RefusedLogin
  /** How many more there were. */
  count: number
}

const windowMs = 60_000
/**
 * Groups of a minute on this node. Clients can fail with any names from any addresses: beyond these numbers their failures are
 * counted together.
 */
const mostOfNetwork = 10
const mostOfAll = 30
const longestText = 256

/**
 * Failed logins that are alike: the first of a minute is told at once, the others at its end, with their number. `tell` hears of a
 * login and how many it stands for.
 */
export class FailedLogins {
  readonly #tell: (login: RefusedLogin, count: number) => Promise<void>
  #groups = new Map<string, Group>()
  #ofNetwork = new Map<string, number>()
  #end: NodeJS.Timeout | undefined

  constructor(tell: (login: RefusedLogin, count: number) => Promise<void>) {
    this.#tell = tell
  }

  add(login: RefusedLogin): void {
    this.#end ??= setTimeout(() => void this.flush(), windowMs).unref()
    const network = nameNetwork(login.from)
    const key = JSON.stringify([login.failure, login.name?.slice(0, longestText), login.target, network])
    const known = this.#groups.get(key)
    const ofNetwork = this.#ofNetwork.get(network) ?? 0
    if (known) known.count++
    else if (ofNetwork < mostOfNetwork && this.#groups.size < mostOfAll) {
      this.#ofNetwork.set(network, ofNetwork + 1)
      this.#groups.set(key, { login, count: 0 })
      void this.#tell(login, 1)
    } else this.#addUnlisted(login)
  }

  /** Tells what the present minute has counted. */
  async flush(): Promise<void> {
    clearTimeout(this.#end)
    this.#end = undefined
    const groups = this.#groups
    this.#groups = new Map()
    this.#ofNetwork = new Map()
    const counted = [...groups.values()].filter(({ count }) => count > 0)
    await Promise.all(counted.map(({ login, count }) => this.#tell(login, count)))
  }

  /** One group for each reason. */
  #addUnlisted({ failure }: RefusedLogin): void {
    const known = this.#groups.get(failure)
    const reason = 'further failed logins, of many names or addresses'
    const login = { failure, name: undefined, principal: undefined, target: undefined, from: '', reason }
    if (known) known.count++
    else this.#groups.set(failure, { login, count: 1 })
  }
}
