/** Properties that people change of their own account without a role. */
const selfServiceProperties: ReadonlySet<string> = new Set([
  'aboutMe',
  'businessPhones',
  'city',
  'country',
  'faxNumber',
  'givenName',
  'mobilePhone',
  'officeLocation',
  'postalCode',
  'preferredLanguage',
  'state',
  'streetAddress',
  'surname',
])

export function isSelfService(property: string): boolean {
  return selfServiceProperties.has(property)
}
