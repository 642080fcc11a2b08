/**
 * The name by which processes of one node and commands of its operator ask for the node's own certificate, whatever certificate
 * other clients are shown. The certificate is made anew at each start and its key never leaves the processes of the node, so an
 * answer under this name is the running service's own.
 */
export const nodeName = 'node.masquerade.invalid'

export interface NodeCertificate {
  readonly cert: string
  readonly key: string
}
