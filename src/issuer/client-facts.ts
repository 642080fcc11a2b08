import type { Client } from 'oidc-provider'

export function clientFactsOf(client: Client): {
  applicationId: string
  servicePrincipalId: string
  firstParty: boolean
} {
  return {
    applicationId: String(client.application_id),
    servicePrincipalId: String(client.service_principal_id),
    firstParty: client.first_party === true,
  }
}
