import { BlockList, isIP } from 'node:net'
import { AsnConvert } from '@peculiar/asn1-schema'
import {
  GeneralName,
  GeneralSubtree,
  GeneralSubtrees,
  id_ce_nameConstraints,
  NameConstraints,
} from '@peculiar/asn1-x509'
import * as x509 from './x509.ts'

/**
 * The only names that certificates of a CA may be for (RFC 5280, 4.2.1.10): a client that trusts our CA trusts it for
 * the names of this service and for no other.
 */
export function createNameConstraints(names: readonly string[]): x509.Extension {
  const subtrees = names.map((name) => new GeneralSubtree({ base: new GeneralName(baseOf(name)) }))
  const constraints = new NameConstraints({ permittedSubtrees: new GeneralSubtrees(subtrees) })
  return new x509.Extension(id_ce_nameConstraints, true, AsnConvert.serialize(constraints))
}

/** True for a name that certificates of this CA may be for. A CA without constraints permits everything. */
export function permitsName(ca: x509.X509Certificate, name: string): boolean {
  const extension = ca.getExtension(id_ce_nameConstraints)
  if (!extension) return true
  const { permittedSubtrees } = AsnConvert.parse(extension.value, NameConstraints)
  return (permittedSubtrees ?? []).some(({ base }) =>
    base.iPAddress === undefined ? coversHost(base.dNSName, name) : coversAddress(base.iPAddress, name),
  )
}

/** Addresses are one address each, but for the whole of 127.0.0.0/8. */
function baseOf(name: string): Partial<GeneralName> {
  const family = isIP(name)
  if (family === 0) return { dNSName: withoutWildcard(name) }
  if (name.startsWith('127.')) return { iPAddress: '127.0.0.0/8' }
  return { iPAddress: `${name}/${family === 4 ? 32 : 128}` }
}

function coversAddress(network: string, name: string): boolean {
  const [base = '', prefix] = network.split('/')
  const family = isIP(name) === 4 ? 'ipv4' : 'ipv6'
  if (isIP(name) === 0 || isIP(base) !== isIP(name)) return false
  const covered = new BlockList()
  covered.addSubnet(base, Number(prefix), family)
  return covered.check(name, family)
}

function coversHost(base: string | undefined, name: string): boolean {
  const host = withoutWildcard(name)
  return base !== undefined && isIP(name) === 0 && (host === base || host.endsWith(`.${base}`))
}

function withoutWildcard(name: string): string {
  return name.replace(/^\*\./, '')
}
