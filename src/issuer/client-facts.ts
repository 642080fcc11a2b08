import type { Client } from 'oidc-provider'

export function clientFactsOf(client: Client): {
  applicationId: string
  servicePrincipalId: string
  firstParty: boolean
  /** How often it was disabled or deleted. */
  shutOuts: number
} {
  return {
    applicationId: String(client.application_id),
    servicePrincipalId: String(client.service_principal_id),
    firstParty: client.first_party === true,
    shutOuts: Number(client.shut_outs),
  }
}
