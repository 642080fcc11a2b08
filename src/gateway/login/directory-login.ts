import type { LoginAccess } from '../../contracts/login.ts'
import { splitCredentialName } from '../../kernel/uuid.ts'
import { int32, message, readFirstResponse, writeMechanisms } from '../../wire/messages.ts'
import { type RefusalName, refuse, violation } from '../../wire/refusal.ts'
import { ScramServer, scramMechanism } from '../../wire/scram.ts'
import type { FoundDatabase, GatewayPorts, Principal } from '../ports.ts'
import { type Side, takePassword } from './authenticate.ts'

type Ports = Pick<GatewayPorts, 'checkToken' | 'findCredential' | 'noteUse' | 'prepareLogin'>

export interface Visit {
  /** As the client gave it. */
  readonly name: string
  readonly database: FoundDatabase
}

/** A directory login, from its password on. A refused client gets the same answer whether or not the name exists. */
export class DirectoryLogin {
  readonly #visit: Visit
  readonly #ports: Ports

  constructor(visit: Visit, ports: Ports) {
    this.#visit = visit
    this.#ports = ports
  }

  /** Asks for proof: of a credential that the name ends with, else for an access token that belongs to the name. */
  async check(client: Side): Promise<Principal> {
    const parts = splitCredentialName(this.#visit.name)
    return parts ? this.#checkCredential(client, parts) : this.#checkToken(client)
  }

  /** The password is never sent: the client proves by SCRAM that it knows it. */
  async #checkCredential(
    client: Side,
    { account, credential }: { readonly account: string; readonly credential: string },
  ): Promise<Principal> {
    const { database } = this.#visit
    client.socket.write(writeMechanisms([scramMechanism]))
    const first = readFirstResponse(await takePassword(client))
    if (first.mechanism !== scramMechanism) violation('the client chose a login that was not offered')
    const found = await this.#ask(() => this.#ports.findCredential(account, credential, database.target))
    const server = new ScramServer(found.verifier)
    client.socket.write(message('R', int32(11), server.first(first.data)))
    const final = server.final((await takePassword(client)).toString('utf8', 5))
    const principal = final === undefined ? undefined : found.principal
    if (!principal || final === undefined) return this.refuse('CredentialRefused')
    const { credentialId } = principal.grounds
    if (credentialId !== undefined) await this.#ask(() => this.#ports.noteUse(credentialId))
    client.socket.write(message('R', int32(12), final))
    return principal
  }

  async #checkToken(client: Side): Promise<Principal> {
    client.socket.write(message('R', int32(3)))
    const token = readPassword(await takePassword(client))
    const check = await this.#ask(() => this.#ports.checkToken(this.#visit.name, token))
    if (check.kind === 'expired') return this.refuse('TokenExpired')
    if (check.kind === 'refused') return this.refuse('TokenRefused')
    return check.principal
  }

  /** How to log in as the principal's role in this database. */
  async prepare({ id }: Principal, isReset: boolean): Promise<LoginAccess> {
    const prepared = await this.#ask(() => this.#ports.prepareLogin(this.#visit.database.id, id, isReset))
    switch (prepared.kind) {
      case 'ready':
        return prepared.login
      case 'noRole':
        return this.refuse('NoMappedRole')
      case 'nameTaken':
        return this.refuse('LoginRoleTaken', { role: prepared.role })
      case 'blocked':
        return this.refuse('LoginRoleBlocked', { role: prepared.role })
      case 'ownsMasked':
        return this.refuse('LoginRoleOwns', { role: prepared.role })
      case 'stillExempt':
        return this.refuse('ExemptionEnding')
      case 'notAllowed':
        return this.refuse('LoginRolesForbidden', { statement: prepared.statement })
      case 'notBound':
        return this.refuse('UnknownDatabase', { name: this.#visit.database.target })
    }
  }

  refuse(reason: RefusalName, values: Readonly<Record<string, string>> = {}): never {
    return refuse(reason, { name: this.#visit.name, ...values })
  }

  async #ask<T>(question: () => Promise<T>): Promise<T> {
    try {
      return await question()
    } catch (cause) {
      return refuse('DirectoryUnavailable', {}, { cause })
    }
  }
}

function readPassword(frame: Buffer): string {
  if (frame.indexOf(0, 5) !== frame.length - 1) violation('malformed password message')
  return frame.toString('utf8', 5, frame.length - 1)
}
