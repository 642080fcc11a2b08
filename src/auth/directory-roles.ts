/** Template ids of directory roles: the same in every tenant, and what the claim `wids` carries. */
export const directoryRoleTemplates = {
  'Global Administrator': '62e90394-69f5-4237-9190-012177145e10',
  'User Administrator': 'fe930be7-5e62-47db-91af-98c3a49a38b1',
  'Directory Writers': '9360feb5-f418-4baa-8175-e2a00bac4301',
  'Exchange Administrator': '29232cdf-9323-42fd-ade2-1d097af3e4de',
  'SharePoint Administrator': 'f28a1f50-f6e7-4571-818b-6a12f2af6b6c',
} as const
