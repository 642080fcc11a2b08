export const why = {
  title: 'Why?',
  description:
    'The shortest chain of groups that makes a person a member of a group, and so what the person may.',
  person: 'Person',
  group: 'Group',
  choose: 'Choose a person and a group',
  chooseHint: 'The chain between them appears here, step by step.',
  isMember: (person: string, group: string) => `${person} is a member of ${group}`,
  isNotMember: (person: string, group: string) => `${person} is not a member of ${group}`,
  notMemberHint: 'Neither directly nor through another group.',
  directly: 'is a direct member of',
  nested: 'which is in',
  gives: 'What this group gives',
  change: 'Change the person or the group',
} as const
