/**
 * The one folding of userPrincipalNames and appIds, wherever they are compared: ASCII letters alone. In SQL it is the column
 * `folded_principal_name`, or `lower(… collate "C")`. Foldings of other letters differ between JavaScript, PostgreSQL
 * and the locales of databases (`İ`, `ı` and the Kelvin sign among them): a name could be exempt by one and free by another.
 */
export function foldPrincipalName(name: string): string {
  return name.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase())
}
