import { join } from 'node:path'
import { OperatorError } from '../kernel/operator-error.ts'
import { type Command, readArgs } from './command.ts'
import { ownCaName, readOwnFile } from './own-file.ts'
import { currentSettings, report } from './surroundings.ts'

const options = { json: { type: 'boolean' } } as const

export const ca: Command = {
  name: 'ca',
  summary: 'Print the CA certificate that clients have to trust',
  help: `
Usage: masquerade ca > masquerade-ca.pem

Prints the certificate of the local CA that signed the HTTPS certificate, in PEM. Clients that trust it accept the
service's certificate, for example: curl --cacert masquerade-ca.pem https://localhost:8443/readyz
The CA is made on the first start of the service. With a certificate of your own (MASQUERADE_TLS_CERT_FILE) there is none.`,
  options,
  async run(args) {
    const { values } = readArgs('ca', args, { options })
    const settings = currentSettings()
    if (settings.tlsCertFile)
      throw new OperatorError(
        'The service uses your own certificate (MASQUERADE_TLS_CERT_FILE); there is no local CA.',
      )
    const found = await readOwnFile(settings.dataDir, ownCaName)
    if (!found)
      throw new OperatorError(
        `There is no CA at ${join(settings.dataDir, ownCaName)}. It is made on the first start: masquerade serve.`,
      )
    report(values, { file: found.path, certificate: found.text }, found.text)
    return 0
  },
}
