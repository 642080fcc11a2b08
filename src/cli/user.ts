import { randomBytes } from 'node:crypto'
import { pathPrefix } from '../kernel/surface.ts'
import { type Api, apiHelp, openApi } from './api.ts'
import { commandOf, refuseUse, type ValuesOf } from './command.ts'
import { objectHelp, objectOptions, objectVerbs, readProperties, type Shown } from './directory-objects.ts'
import { readNewPassword } from './input.ts'
import { findUser, kindOf, listRelated, nameOf } from './principals.ts'
import { report } from './surroundings.ts'

const options = {
  ...objectOptions,
  name: { type: 'string' },
  disabled: { type: 'boolean' },
  invite: { type: 'boolean' },
  hours: { type: 'string' },
  'must-change': { type: 'boolean' },
} as const

type Values = ValuesOf<typeof options>

const users = `${pathPrefix.directory}/users`
const { list, show, set, remove, restore } = objectVerbs({
  noun: 'user',
  set: 'users',
  columns: ['userPrincipalName', 'displayName', 'accountEnabled', 'id'],
  names: ['displayName', 'userPrincipalName'],
  find: findUser,
  read: readUser,
})

export const user = commandOf({
  name: 'user',
  summary: 'List, add, change and remove users, and set their passwords',
  help: `
Usage: masquerade user list [--search TEXT] [--disabled] [--limit N]
       masquerade user show USER
       masquerade user add USERPRINCIPALNAME [--name NAME] [--invite [--hours N] | --must-change] [--disabled] [--set …]
       masquerade user set USER --set NAME=VALUE …
       masquerade user set-password USER [--invite [--hours N] | --must-change]
       masquerade user enable USER
       masquerade user disable USER
       masquerade user remove USER
       masquerade user restore ID

USER is a userPrincipalName or an object id. A password is asked for on a terminal, and read from the standard input
elsewhere; it is never an argument. With --must-change the user has to choose another one at the next sign-in.
The password of the signed-in person is refused here: POST /me/changePassword asks for the current one.

  --invite         Print a password that works once and for a time: the user chooses another one at the first sign-in.
                   It is shown this once.
  --hours N        How long the invitation works: 72 hours unless said, 720 at most.
  --disabled       Add a user who cannot sign in yet; list those who cannot.
${objectHelp}
${apiHelp}`,
  options,
  verbs: {
    list,
    show,
    add: { takes: ['USERPRINCIPALNAME'], run: add },
    set,
    'set-password': { takes: ['USER'], run: changePassword },
    enable: { takes: ['USER'], run: (values, name) => setEnabled(values, name, true) },
    disable: { takes: ['USER'], run: (values, name) => setEnabled(values, name, false) },
    remove,
    restore,
  },
})

const shownProperties = [
  'id',
  'userPrincipalName',
  'displayName',
  'givenName',
  'surname',
  'mail',
  'jobTitle',
  'department',
  'officeLocation',
  'accountEnabled',
  'createdDateTime',
]

async function readUser(api: Api, id: string): Promise<Shown> {
  const { body } = await api.send<Shown>('GET', `${users}/${id}?$select=${shownProperties.join(',')}`)
  const containers = await listRelated(api, `/users/${id}/memberOf`)
  const namesOf = (kind: string) =>
    containers.filter((one) => kindOf(one) === kind).map((one) => nameOf(one).name ?? one.id)
  return { ...body, groups: namesOf('group'), roles: namesOf('role') }
}

async function add(values: Values, userPrincipalName: string): Promise<number> {
  if (!userPrincipalName.includes('@'))
    return refuseUse(
      'user',
      `'${userPrincipalName.slice(0, 100)}' is not a userPrincipalName such as ana@example.com`,
    )
  checkInvitation(values)
  const nickname = userPrincipalName.split('@', 1)[0] ?? ''
  // An invited user has a password that no person knows until the invitation replaces it.
  const password = values.invite
    ? randomBytes(48).toString('base64')
    : await readNewPassword(userPrincipalName)
  const api = await openApi(values)
  const { body } = await api.send<Shown>('POST', users, {
    accountEnabled: !values.disabled,
    displayName: values.name ?? nickname,
    mailNickname: nickname.slice(0, 64),
    userPrincipalName,
    passwordProfile: { password, forceChangePasswordNextSignIn: values['must-change'] ?? false },
    ...readProperties('user', values.set),
  })
  if (values.invite)
    return invite(api, values, body.id, userPrincipalName, `${userPrincipalName} is added.\n`)
  report(values, body, `${userPrincipalName} is added (${body.id}).\n`)
  return 0
}

async function changePassword(values: Values, name: string): Promise<number> {
  checkInvitation(values)
  const password = values.invite ? '' : await readNewPassword(name)
  const api = await openApi(values)
  const { id } = await findUser(api, name)
  if (values.invite) return invite(api, values, id, name, '')
  const forceChangePasswordNextSignIn = values['must-change'] ?? false
  await api.send('PATCH', `${users}/${id}`, { passwordProfile: { password, forceChangePasswordNextSignIn } })
  report(
    values,
    { id, passwordSet: true },
    `The password of ${name} is set. Sign-ins from before it have ended.\n`,
  )
  return 0
}

async function invite(api: Api, values: Values, id: string, name: string, before: string): Promise<number> {
  const lifetimeInHours = values.hours === undefined ? {} : { lifetimeInHours: Number(values.hours) }
  const { body } = await api.send<{ password: string; expirationDateTime: string }>(
    'POST',
    `${users}/${id}/invite`,
    lifetimeInHours,
  )
  const words = `${before}${name} signs in once with this password, until ${body.expirationDateTime}, and chooses another one:\n${body.password}\n`
  report(values, { id, userPrincipalName: name, ...body }, words)
  return 0
}

function checkInvitation(values: Values): void {
  if (values.token === '-' && !values.invite)
    refuseUse('user', 'The standard input can hold the token or the password, and not both')
  if (values.invite && values['must-change']) refuseUse('user', '--invite says --must-change already')
  if (values.hours !== undefined && !/^[1-9]\d{0,2}$/.test(values.hours))
    refuseUse('user', '--hours takes a number from 1 to 720')
}

async function setEnabled(values: Values, name: string, accountEnabled: boolean): Promise<number> {
  const api = await openApi(values)
  const { id } = await findUser(api, name)
  await api.send('PATCH', `${users}/${id}`, { accountEnabled })
  report(values, { id, accountEnabled }, `${name} is ${accountEnabled ? 'enabled' : 'disabled'}.\n`)
  return 0
}
