import { attacks, guesses } from '../attack.ts'

/** No raw value on the wire, but an answer that depends on one. The guesses are parts of canaries. */
export const guessed = guesses('contained', ['ENF-03'], {
  equality: `select 'hit' from {S}.customers where email = 'zqcan' || 'ary-mail@leak.test'`,
  LIKE: `select 'hit' from {S}.customers where email like 'zqc%'`,
  'regular expression': `select 'hit' from {S}.customers where note ~ '^zqc'`,
  'SIMILAR TO': `select 'hit' from {S}.customers where note similar to 'zqc%'`,
  range: `select 'hit' from {S}.customers where salary between 7000000 and 8000000`,
  'date range': `select 'hit' from {S}.customers where born between '1987-06-01' and '1987-06-30'`,
  'IN list': `select 'hit' from {S}.customers where ssn in ('914-' || '27-8305')`,
  '= ANY': `select 'hit' from {S}.customers where token = any
    (array['c0ffee15-1ea4-4bad-8bad-5eed5eed5eed']::uuid[])`,
  'containment of json': `select 'hit' from {S}.customers where profile @> '{"k":"zqcanary-json"}'`,
  'overlap of arrays': `select 'hit' from {S}.customers where tags && array['zqcan' || 'ary-tag']`,
  'IS DISTINCT FROM': `select 'hit' from {S}.customers where id = 1 and note is not distinct from 'zqcan' ||
    'ary-note-hidden'`,
  length: `select 'hit' from {S}.customers where id = 1 and length(note) = 20`,
  octet_length: `select 'hit' from {S}.customers where id = 1 and octet_length(blob) = 14`,
  pg_column_size: `select 'hit' from {S}.customers where id = 1 and pg_column_size(email) = 24`,
  'a letter at a time': `select 'hit' from {S}.customers where id = 1 and ascii(substr(email, 3, 1)) = 99`,
  'text search': `select 'hit' from {S}.customers where to_tsvector('simple', note) @@ to_tsquery('simple',
    'zqcanary-note-hidden')`,
  'comparison of rows': `select 'hit' from {S}.customers where (id, salary) >= (1, 7000000) and id = 1`,
  EXISTS: `select 'hit' where exists (select from {S}.customers where email like 'zqc%')`,
  'NOT EXISTS': `select 'hit' where not exists (select from {S}.customers where id = 1 and email not like 'zqc%')
    and exists (select from {S}.customers where id = 1 and email is not null)`,
  HAVING: `select 'hit' from {S}.customers having max(salary) > 7000000`,
  FILTER: `select case when count(*) filter (where email like 'zqc%') > 0 then 'hit' end from {S}.customers`,
  max: `select case when max(salary) > 7000000 then 'hit' end from {S}.customers`,
  'min of dates': `select case when min(born) between '1950-01-01' and '1990-01-01' then
    'hit' end from {S}.customers`,
  sum: `select case when sum(salary) > 7000000 then 'hit' end from {S}.customers`,
  variance: `select case when variance(salary) > 1e9 then 'hit' end from {S}.customers`,
  mode: `select case when mode() within group (order by note) like '%' and max(note) like 'zqc%' then
    'hit' end from {S}.customers`,
  percentile: `select case when percentile_cont(1) within group (order by salary) > 7000000 then
    'hit' end from {S}.customers`,
  'rank of a hypothetical row': `select case when rank(7000000) within group (order by salary desc nulls last)
    = 2 and max(salary) > 200 then 'hit' end from {S}.customers`,
  'GROUP BY': `select 'hit' from {S}.customers group by email having email like 'zqc%'`,
  'GROUPING SETS': `select 'hit' from {S}.customers group by grouping sets ((salary), ()) having salary > 7000000`,
  'DISTINCT ON': `select case when id = 1 then 'hit' end from (select distinct on (1) 1, id
    from {S}.customers where salary is not null and salary > 100 order by 1, salary desc) s`,
  'ORDER BY': `select case when id = 1 then 'hit' end from (select id, salary from {S}.customers where salary is
    not null order by salary desc limit 1) s where salary > 100`,
  window: `select 'hit' from (select id, max(salary) over () m from {S}.customers) s where m > 7000000`,
  lag: `select 'hit' from (select lag(salary) over (order by id) l from {S}.customers) s where l > 7000000`,
  width_bucket: `select 'hit' from {S}.customers where width_bucket(salary, 0, 8000000, 8) = 8`,
  'join with guesses': `select 'hit' from {S}.customers c join (values ('zqcan' || 'ary-mail@leak.test')) g(e)
    on g.e = c.email`,
  'semi-join': `select 'hit' from (values (7316549.25)) g(s) where g.s in (select salary from {S}.customers)`,
  'anti-join': `select 'hit' from (values (7316549.25)) g(s) where not exists (select from (values (1))
    x where not exists (select from {S}.customers where salary = g.s))`,
  'LIMIT by a value': `select 'hit' from generate_series(1, 1) limit (select case when email like 'zqc%' then
    1 else 0 end from {S}.customers where id = 1)`,
  'generate_series by a value': `select 'hit' from {S}.customers, generate_series(7316549, salary::int)
    where id = 1`,
})

export const errors = attacks('contained', ['ENF-03'], {
  'division by zero in CASE': {
    run: `select case when email like 'zqc%' then 1 / (id - id)
    end from {S}.customers`,
    tell: /"22012"/i,
  },
  'division by a difference': {
    run: 'select 1 / (salary - 7316549.25) from {S}.customers where id = 1',
    tell: /"22012"/i,
  },
  overflow: { run: 'select (salary * 1000)::int from {S}.customers where id = 1', tell: /"22003"/i },
  'square root': {
    run: 'select sqrt(7000000 - salary) from {S}.customers where salary > 7000000',
    tell: /"2201F"/i,
  },
  'regular expression made of the value': {
    run: `select 'x' ~ ('(' || note) from {S}.customers where id = 1 and
    note like 'zqc%'`,
    tell: /"2201B"/i,
  },
  'a cast that quotes the value': 'select email::int from {S}.customers where id = 1',
  'a cast of the note': 'select note::date from {S}.customers where id = 1',
  'a cast in a predicate': 'select id from {S}.customers where note::uuid is null and id = 1',
  'a cast of json': `select (profile ->> 'k')::numeric from {S}.customers where id = 1`,
  'a cast of the tags': 'select tags::int[] from {S}.customers where id = 1',
  to_regclass: 'select email::regclass from {S}.customers where id = 1',
  'a setting of that name': `select set_config(email, 'x', true) from {S}.customers where id = 1`,
  'a setting of that value': `select set_config('a.b', email, true) from {S}.customers where id = 1;; show a.b`,
  'a setting that refuses the value': `select set_config('work_mem', note, true) from {S}.customers where id = 1`,
  'XML that does not parse': `select ('<' || note)::xml from {S}.customers where id = 1`,
  'json that does not parse': 'select note::json from {S}.customers where id = 1',
  'a time zone of that name': 'select now() at time zone note from {S}.customers where id = 1',
  'a notification': `listen leak;; select pg_notify('leak', email) from {S}.customers where id = 1;;
    select email from {S}.customers`,
  'raised by the attacker': `do $$ declare e text; begin select email into e from {S}.customers where id = 1;
    raise exception 'got %', e; end $$`,
  'noticed by the attacker': `do $$ declare e text; begin select email into e from {S}.customers where id = 1;
    raise notice 'got %', e using detail = e, hint = e; end $$`,
})
