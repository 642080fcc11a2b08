import type { Attack } from './attacker.ts'

const hit = /\bhit\b/
const guess = (name: string, ...run: string[]): Attack => ({ name, run, tell: hit })
const fails = (name: string, code: string, ...run: string[]): Attack => ({
  name,
  run,
  tell: new RegExp(`"${code}"`, 'i'),
})

/** No raw value on the wire, but an answer that depends on one. The guesses are parts of canaries. */
export const inferences: readonly Attack[] = [
  guess('equality', `select 'hit' from {S}.customers where email = 'zqcan' || 'ary-mail@leak.test'`),
  guess('LIKE', `select 'hit' from {S}.customers where email like 'zqc%'`),
  guess('regular expression', `select 'hit' from {S}.customers where note ~ '^zqc'`),
  guess('SIMILAR TO', `select 'hit' from {S}.customers where note similar to 'zqc%'`),
  guess('range', `select 'hit' from {S}.customers where salary between 7000000 and 8000000`),
  guess('date range', `select 'hit' from {S}.customers where born between '1987-06-01' and '1987-06-30'`),
  guess('IN list', `select 'hit' from {S}.customers where ssn in ('914-' || '27-8305')`),
  guess(
    '= ANY',
    `select 'hit' from {S}.customers where token = any (array['c0ffee15-1ea4-4bad-8bad-5eed5eed5eed']::uuid[])`,
  ),
  guess('containment of json', `select 'hit' from {S}.customers where profile @> '{"k":"zqcanary-json"}'`),
  guess('overlap of arrays', `select 'hit' from {S}.customers where tags && array['zqcan' || 'ary-tag']`),
  guess(
    'IS DISTINCT FROM',
    `select 'hit' from {S}.customers where id = 1 and note is not distinct from 'zqcan' || 'ary-note-hidden'`,
  ),
  guess('length', `select 'hit' from {S}.customers where id = 1 and length(note) = 20`),
  guess('octet_length', `select 'hit' from {S}.customers where id = 1 and octet_length(blob) = 14`),
  guess('pg_column_size', `select 'hit' from {S}.customers where id = 1 and pg_column_size(email) = 24`),
  guess(
    'a letter at a time',
    `select 'hit' from {S}.customers where id = 1 and ascii(substr(email, 3, 1)) = 99`,
  ),
  guess(
    'text search',
    `select 'hit' from {S}.customers where to_tsvector('simple', note) @@ to_tsquery('simple', 'zqcanary-note-hidden')`,
  ),
  guess(
    'comparison of rows',
    `select 'hit' from {S}.customers where (id, salary) >= (1, 7000000) and id = 1`,
  ),
  guess('EXISTS', `select 'hit' where exists (select from {S}.customers where email like 'zqc%')`),
  guess(
    'NOT EXISTS',
    `select 'hit' where not exists (select from {S}.customers where id = 1 and email not like 'zqc%')
    and exists (select from {S}.customers where id = 1 and email is not null)`,
  ),
  guess('HAVING', `select 'hit' from {S}.customers having max(salary) > 7000000`),
  guess(
    'FILTER',
    `select case when count(*) filter (where email like 'zqc%') > 0 then 'hit' end from {S}.customers`,
  ),
  guess('max', `select case when max(salary) > 7000000 then 'hit' end from {S}.customers`),
  guess(
    'min of dates',
    `select case when min(born) between '1950-01-01' and '1990-01-01' then 'hit' end from {S}.customers`,
  ),
  guess('sum', `select case when sum(salary) > 7000000 then 'hit' end from {S}.customers`),
  guess('variance', `select case when variance(salary) > 1e9 then 'hit' end from {S}.customers`),
  guess(
    'mode',
    `select case when mode() within group (order by note) like '%' and max(note) like 'zqc%' then 'hit' end from {S}.customers`,
  ),
  guess(
    'percentile',
    `select case when percentile_cont(1) within group (order by salary) > 7000000 then 'hit' end from {S}.customers`,
  ),
  guess(
    'rank of a hypothetical row',
    `select case when rank(7000000) within group (order by salary desc nulls last) = 2 and max(salary) > 200 then 'hit' end from {S}.customers`,
  ),
  guess('GROUP BY', `select 'hit' from {S}.customers group by email having email like 'zqc%'`),
  guess(
    'GROUPING SETS',
    `select 'hit' from {S}.customers group by grouping sets ((salary), ()) having salary > 7000000`,
  ),
  guess(
    'DISTINCT ON',
    `select case when id = 1 then 'hit' end from (select distinct on (1) 1, id from {S}.customers where salary is not null and salary > 100 order by 1, salary desc) s`,
  ),
  guess(
    'ORDER BY',
    `select case when id = 1 then 'hit' end from (select id, salary from {S}.customers where salary is not null order by salary desc limit 1) s where salary > 100`,
  ),
  guess(
    'window',
    `select 'hit' from (select id, max(salary) over () m from {S}.customers) s where m > 7000000`,
  ),
  guess(
    'lag',
    `select 'hit' from (select lag(salary) over (order by id) l from {S}.customers) s where l > 7000000`,
  ),
  guess('width_bucket', `select 'hit' from {S}.customers where width_bucket(salary, 0, 8000000, 8) = 8`),
  guess(
    'join with guesses',
    `select 'hit' from {S}.customers c join (values ('zqcan' || 'ary-mail@leak.test')) g(e) on g.e = c.email`,
  ),
  guess(
    'semi-join',
    `select 'hit' from (values (7316549.25)) g(s) where g.s in (select salary from {S}.customers)`,
  ),
  guess(
    'anti-join',
    `select 'hit' from (values (7316549.25)) g(s) where not exists (select from (values (1)) x where not exists (select from {S}.customers where salary = g.s))`,
  ),
  guess(
    'LIMIT by a value',
    `select 'hit' from generate_series(1, 1) limit (select case when email like 'zqc%' then 1 else 0 end from {S}.customers where id = 1)`,
  ),
  guess(
    'generate_series by a value',
    `select 'hit' from {S}.customers, generate_series(7316549, salary::int) where id = 1`,
  ),
  fails(
    'division by zero in CASE',
    '22012',
    `select case when email like 'zqc%' then 1 / (id - id) end from {S}.customers`,
  ),
  fails(
    'division by a difference',
    '22012',
    'select 1 / (salary - 7316549.25) from {S}.customers where id = 1',
  ),
  fails('overflow', '22003', 'select (salary * 1000)::int from {S}.customers where id = 1'),
  fails('square root', '2201F', `select sqrt(7000000 - salary) from {S}.customers where salary > 7000000`),
  fails(
    'regular expression made of the value',
    '2201B',
    `select 'x' ~ ('(' || note) from {S}.customers where id = 1 and note like 'zqc%'`,
  ),
  { name: 'a cast that quotes the value', run: ['select email::int from {S}.customers where id = 1'] },
  { name: 'a cast of the note', run: ['select note::date from {S}.customers where id = 1'] },
  {
    name: 'a cast in a predicate',
    run: ['select id from {S}.customers where note::uuid is null and id = 1'],
  },
  { name: 'a cast of json', run: [`select (profile ->> 'k')::numeric from {S}.customers where id = 1`] },
  { name: 'a cast of the tags', run: ['select tags::int[] from {S}.customers where id = 1'] },
  { name: 'to_regclass', run: ['select email::regclass from {S}.customers where id = 1'] },
  {
    name: 'a setting of that name',
    run: [`select set_config(email, 'x', true) from {S}.customers where id = 1`],
  },
  {
    name: 'a setting of that value',
    run: [`select set_config('a.b', email, true) from {S}.customers where id = 1`, 'show a.b'],
  },
  {
    name: 'a setting that refuses the value',
    run: [`select set_config('work_mem', note, true) from {S}.customers where id = 1`],
  },
  { name: 'XML that does not parse', run: [`select ('<' || note)::xml from {S}.customers where id = 1`] },
  { name: 'json that does not parse', run: ['select note::json from {S}.customers where id = 1'] },
  {
    name: 'a time zone of that name',
    run: ['select now() at time zone note from {S}.customers where id = 1'],
  },
  {
    name: 'a notification',
    run: [
      `listen leak`,
      `select pg_notify('leak', email) from {S}.customers where id = 1`,
      'select email from {S}.customers',
    ],
  },
  {
    name: 'raised by the attacker',
    run: [
      `do $$ declare e text; begin select email into e from {S}.customers where id = 1; raise exception 'got %', e; end $$`,
    ],
  },
  {
    name: 'noticed by the attacker',
    run: [
      `do $$ declare e text; begin select email into e from {S}.customers where id = 1; raise notice 'got %', e using detail = e, hint = e; end $$`,
    ],
  },
]
