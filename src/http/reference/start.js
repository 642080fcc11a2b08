// Shows the API reference. Nothing is fetched from elsewhere, and no token outlives the page.
const { clientId } = document.getElementById('reference').dataset
const description = await (await fetch('/openapi.json')).json()

// A person who signs in here gets what their roles allow: one scope says so, for both APIs.
const scope = `${location.origin}/.default`
const { delegated } = description.components.securitySchemes
const flow = delegated.flows.authorizationCode
flow.scopes = { [scope]: 'Everything that your roles allow' }
for (const methods of Object.values(description.paths))
  for (const operation of Object.values(methods))
    if (operation.security.some((one) => one.delegated))
      operation.security = [{ delegated: [scope] }, ...operation.security.filter((one) => !one.delegated)]

globalThis.Scalar.createApiReference('#reference', {
  content: description,
  agent: { disabled: true },
  authentication: {
    preferredSecurityScheme: 'delegated',
    securitySchemes: {
      delegated: {
        flows: {
          authorizationCode: {
            'x-scalar-client-id': clientId,
            'x-scalar-redirect-uri': `${location.origin}/docs/signed-in`,
            'x-scalar-credentials-location': 'body',
            'x-usePkce': 'SHA-256',
            selectedScopes: [scope],
          },
        },
      },
    },
  },
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
  documentDownloadType: 'direct',
  externalUrls: {},
  hideClientButton: true,
  mcp: { disabled: true },
  persistAuth: false,
  proxyUrl: '',
  showDeveloperTools: 'never',
  telemetry: false,
  theme: 'none',
  withDefaultFonts: false,
})
