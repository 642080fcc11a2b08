import type { Client } from 'oidc-provider'

export function clientFactsOf(client: Client): { servicePrincipalId: string; firstParty: boolean } {
  return {
    servicePrincipalId: String(client.service_principal_id),
    firstParty: client.first_party === true,
  }
}
