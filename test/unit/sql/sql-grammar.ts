import fc from 'fast-check'
import { statement } from '../gateway/audit/touch-grammar.ts'

/** Pieces of SQL, most of them in no order that makes sense. */
const piece = fc.constantFrom(
  ...`select from where ( ) [ ] , ; . .. * + - / :: := => $1 $2 $ 1 1.5 1e10 0x1f 1_000 'a' 'it''s' E'\\'' U&'\\0061' U&"\\0061"
  uescape '!' "a" "q""u" "ä" customers public.customers c as join on using natural cross lateral union except intersect all with
  recursive insert into values default on conflict do update set nothing returning delete merge when matched then copy to stdin
  stdout lock table in access share mode truncate grant create view temp like not is null case end between and or collate at
  time zone array row exists any over partition by group order limit for of $$ $a$x$a$ -- /* */ \n \t é 😀 b'1' x'ff' n'x'
  execute prepare explain do begin atomic function returns language sql int text only tablesample system (10)`.split(
    / +|\n +/,
  ),
  '\n',
  '--x\n',
  '/* y */',
  "'unfinished",
)
const soup = fc
  .array(piece, { maxLength: 40 })
  .chain((pieces) => fc.constantFrom(' ', '', '\n').map((between) => pieces.join(between)))

/** What nests or goes on without an end, at the lengths where limits are. */
const repeated = fc.constantFrom<readonly [start: string, piece: string, middle: string, end: string]>(
  ['select 1', '+1', '', ''],
  ['select 1', ' or true', '', ''],
  ['select 1', '::text', '', ''],
  ['select 1', ' collate "C"', '', ''],
  ['select 1', ' is null', '', ''],
  ['select 1', ' at time zone 1', '', ''],
  ['select a', '[1]', '', ''],
  ['select (a)', '.b', '', ''],
  ['select ', 'not ', 'true', ''],
  ['select ', '- ', '1', ''],
  ['select ', '(', '1', ')'],
  ['select ', '(1,', '1', ')'],
  ['select ', 'f(', '1', ')'],
  ['select ', 'array[', '1', ']'],
  ['select ', '(select ', '1', ')'],
  ['select ', 'exists (select ', '1', ')'],
  ['select ', 'case when true then ', '1', ' end'],
  ['select ', '1 in (', '1', ')'],
  ['select 1', ' union select 1', '', ''],
  ['select 1, 2', ' union all select 1, 2', '', ''],
  ['select 1', ' intersect (select 1', '', ')'],
  ['select * from a', ' join a on true', '', ''],
  ['select * from a', ' natural join (a', '', ')'],
  ['select * from a', ', a', '', ''],
  ['select * from ', '(select * from ', 'a', ') x'],
  ['select * from a', ', lateral (select x', '', ') x'],
  ['', 'with a as (', 'select 1', ') select 1'],
  ['select 1', ', 1', '', ''],
  ['select * from a where id in (1', ', 1', '', ')'],
  ['insert into a values (1)', ', (1)', '', ''],
  ['select 1', '; select 1', '', ''],
  ['select a', ', a.b', ' from a', ''],
)
const bomb = fc
  .tuple(repeated, fc.constantFrom(1, 20, 600, 1_900, 2_100, 9_000, 40_000))
  .map(([[start, each, middle, end], times]) => start + each.repeat(times) + middle + end.repeat(times))

export const anyText = fc.oneof(
  { weight: 3, arbitrary: soup },
  { weight: 2, arbitrary: statement },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 60 }) },
  { weight: 1, arbitrary: fc.string({ maxLength: 60 }) },
)
export { bomb, statement }
