/** Template ids of directory roles: the same in every tenant, and the values of the claim `wids`. */
export const directoryRoleTemplates = {
  'Application Administrator': '9b895d92-2cd3-44c7-9d02-a6ac2d5ea5c3',
  'Application Developer': 'cf1c38e5-3621-4004-a7cb-879624dced7c',
  'Authentication Administrator': 'c4e39bd9-1100-46d3-8c65-fb160da0071f',
  'Billing Administrator': 'b0f54661-2d74-4c50-afa3-1ec803f12efe',
  'Cloud Application Administrator': '158c047a-c907-4556-b7ef-446551a6b5f7',
  'Cloud Device Administrator': '7698a772-787b-4ac8-901f-60d6b08affd2',
  'Directory Readers': '88d8e3e3-8f55-4a1e-953a-9b9898b8876b',
  'Directory Writers': '9360feb5-f418-4baa-8175-e2a00bac4301',
  'Exchange Administrator': '29232cdf-9323-42fd-ade2-1d097af3e4de',
  'Global Administrator': '62e90394-69f5-4237-9190-012177145e10',
  'Global Reader': 'f2ef992c-3afb-46b9-b7cf-a126ee74c451',
  'Groups Administrator': 'fdd7a751-b60b-444a-984c-02652fe8fa1c',
  'Guest Inviter': '95e79109-95c0-4d8e-aee3-d01accf2d47b',
  'Helpdesk Administrator': '729827e3-9c14-49f7-bb1b-9608f156bbb8',
  'Password Administrator': '966707d0-3269-4727-9be2-8c3a10f19b9d',
  'Privileged Authentication Administrator': '7be44c8a-adaf-4e2a-84d6-ab2649e08a13',
  'Privileged Role Administrator': 'e8611ab8-c189-46e8-94e1-60213ab1f814',
  'Security Administrator': '194ae4cb-b126-40b2-bd5b-6091b380977d',
  'Security Reader': '5d6b6bb7-de71-4623-b4af-96380a352509',
  'SharePoint Administrator': 'f28a1f50-f6e7-4571-818b-6a12f2af6b6c',
  'User Administrator': 'fe930be7-5e62-47db-91af-98c3a49a38b1',
} as const

export type DirectoryRole = keyof typeof directoryRoleTemplates
