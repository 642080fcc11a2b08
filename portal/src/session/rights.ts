import { usePerson } from './person.tsx'
import type { Person } from './session.ts'

/** Template ids of the directory roles that the portal names; they are the same in every installation. */
const templates = {
  'Global Administrator': '62e90394-69f5-4237-9190-012177145e10',
  'User Administrator': 'fe930be7-5e62-47db-91af-98c3a49a38b1',
  'Directory Writers': '9360feb5-f418-4baa-8175-e2a00bac4301',
  'Groups Administrator': 'fdd7a751-b60b-444a-984c-02652fe8fa1c',
  'Privileged Role Administrator': 'e8611ab8-c189-46e8-94e1-60213ab1f814',
  'Privileged Authentication Administrator': '7be44c8a-adaf-4e2a-84d6-ab2649e08a13',
  'Authentication Administrator': 'c4e39bd9-1100-46d3-8c65-fb160da0071f',
  'Password Administrator': '966707d0-3269-4727-9be2-8c3a10f19b9d',
  'Helpdesk Administrator': '729827e3-9c14-49f7-bb1b-9608f156bbb8',
  'Application Administrator': '9b895d92-2cd3-44c7-9d02-a6ac2d5ea5c3',
  'Cloud Application Administrator': '158c047a-c907-4556-b7ef-446551a6b5f7',
  'Application Developer': 'cf1c38e5-3621-4004-a7cb-879624dced7c',
  'Global Reader': 'f2ef992c-3afb-46b9-b7cf-a126ee74c451',
  'Security Administrator': '194ae4cb-b126-40b2-bd5b-6091b380977d',
  'Security Reader': '5d6b6bb7-de71-4623-b4af-96380a352509',
} as const

type Role = keyof typeof templates

const groupRoles = [
  'Groups Administrator',
  'User Administrator',
  'Privileged Role Administrator',
  'Global Administrator',
] as const
const applicationRoles = [
  'Application Administrator',
  'Cloud Application Administrator',
  'Global Administrator',
] as const

/** The directory roles with each right, the least first: `docs/permissions.md` has the whole table. */
const rolesByRight = {
  createUser: ['Directory Writers', 'User Administrator', 'Global Administrator'],
  updateUser: [
    'Directory Writers',
    'Authentication Administrator',
    'User Administrator',
    'Privileged Authentication Administrator',
    'Global Administrator',
  ],
  setPassword: [
    'Helpdesk Administrator',
    'Password Administrator',
    'Authentication Administrator',
    'User Administrator',
    'Privileged Authentication Administrator',
    'Global Administrator',
  ],
  deleteUser: ['User Administrator', 'Privileged Authentication Administrator', 'Global Administrator'],
  changeGroup: ['Directory Writers', ...groupRoles],
  deleteGroup: groupRoles,
  registerApplication: ['Application Developer', ...applicationRoles],
  changeApplication: applicationRoles,
  grantPermission: ['Privileged Role Administrator', 'Global Administrator'],
  consent: [...applicationRoles, 'Privileged Role Administrator'],
  manageRoles: ['Privileged Role Administrator', 'Global Administrator'],
  readLogs: ['Security Reader', 'Global Reader', 'Security Administrator', 'Global Administrator'],
} as const satisfies Record<string, readonly Role[]>

export type Right = keyof typeof rolesByRight

/** True when a directory role of the signed-in person gives the right. The service decides; the portal only hides. */
export function holdsRight({ directoryRoles }: Person, right: Right): boolean {
  return rolesByRight[right].some((role) => directoryRoles.has(templates[role]))
}

export function useRight(right: Right): boolean {
  return holdsRight(usePerson(), right)
}

/** The role that would help and reaches least. */
export function roleFor(right: Right): string {
  return rolesByRight[right][0]
}
