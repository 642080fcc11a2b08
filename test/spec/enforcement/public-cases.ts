import type { ExposureCase } from './exposure-cases.ts'

const clause = 'ENF-535'

/** Exposures that PUBLIC opens, so that exempt roles have the same privilege by it. */
export const publicCases: readonly ExposureCase[] = [
  {
    code: 'SecurityDefinerFunction',
    clause,
    what: 'EXECUTE of a function',
    before: `create function public.peek() returns setof text language sql security definer
      as 'select email from public.person'`,
    leak: 'select * from public.peek()',
  },
  {
    code: 'DefaultPrivileges',
    clause,
    what: 'SELECT on later tables',
    setup: 'alter default privileges in schema public grant select on tables to public',
  },
  {
    code: 'SequenceValues',
    clause,
    what: 'one privilege of a sequence, another one of a role',
    before: `create sequence public.mails; alter table public.person alter email set default nextval('public.mails');
      grant select on sequence public.mails to public; grant usage on sequence public.mails to $analyst`,
  },
]
