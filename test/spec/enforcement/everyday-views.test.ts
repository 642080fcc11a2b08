import assert from 'node:assert/strict'
import { describeTurn } from '../../../src/findings/turns/describe-turn.ts'
import { takeTurn } from '../../../src/masks/turn.ts'
import { clause } from '../../support/clause.ts'
import { majorOf } from '../../support/cluster.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'

type Views = Readonly<Record<string, string>>

/** With types of rows of relations that PostgreSQL records no dependency on. */
const rows: Views = {
  team: 'select b.id, coalesce((select array_agg(p) from app.person p where p.boss = b.id), array[]::app.person[]) as team from app.person b',
  none: 'select b.id, b.mail, array[]::app.person[] as team from app.person b',
  unused: 'select b.id, b.mail, cardinality(array[]::app.person[]) as count from app.person b',
  ofPartitioned:
    'select b.id, b.mail, coalesce((select array_agg(p) from app.parted p), array[]::app.parted[]) as everyone from app.person b',
  notRead: 'select id, mail, array[]::app.parted[] as none from app.person',
  ofView:
    'select a.id, (select coalesce(array_agg(b), array[]::app.plain[]) from app.plain b) as everyone from app.plain a',
  ofUnmasked:
    'select p.id, p.mail, coalesce((select array_agg(d) from app.dept d where d.id = p.dept), array[]::app.dept[]) as depts from app.person p',
  mixed:
    'select p.id, p.mail, array[]::app.dept[] as depts, array[]::app.mood[] as moods, array[]::app.person[] as people, array[]::app.pair[] as pairs from app.person p',
}
const jsonRows: Views = {
  jsonRow: `select id, mail, json_query(j, '$.x' returning app.person) as found from app.person`,
  jsonRows: `select id, mail, json_query(j, '$.x' returning app.person[]) as found from app.person`,
  jsonTableRow: `select p.id, t.* from app.person p, json_table(p.j, '$' columns (a text path '$.a', whole app.person path '$.x', mo app.mood path '$.m', e app.email path '$.a')) t`,
}
/** Bodies of views as people write them. */
const everyday: Views = {
  plain: 'select id, mail, nick, m from app.person',
  aggregates:
    'select dept, count(*), max(mail), min(nick), string_agg(mail, $$,$$ order by id) from app.person group by dept',
  filter:
    'select dept, count(*) filter (where m = $$a$$) as many, array_agg(mail) filter (where nick is not null) as mails from app.person group by dept',
  distinctOn: 'select distinct on (dept) dept, mail, nick from app.person order by dept, id desc',
  lateral:
    'select d.id, d.name, l.mail from app.dept d left join lateral (select p.mail from app.person p where p.dept = d.id order by p.id limit 1) l on true',
  object:
    'select id, json_build_object($$mail$$, mail, $$nick$$, nick, $$m$$, m) as o, jsonb_agg(mail) over () as every from app.person',
  rowToJson: 'select p.id, row_to_json(p) as o from app.person p',
  toJsonb: 'select p.id, to_jsonb(p) - $$j$$ as o, to_jsonb(p.ms) as ms from app.person p',
  aggregated:
    'select dept, array_agg(p order by p.mail, p.id desc) as people from app.person p group by dept',
  whole: 'select p.*, p as whole from app.person p',
  coalesced:
    'select a.id, coalesce(b, a) as chief, (coalesce(b, a)).mail as chief_mail from app.person a left join app.person b on b.id = a.boss',
  cases:
    'select id, case m when $$a$$ then mail when $$b$$ then nick::text else null end as shown, case when p.boss is null then p end as top from app.person p',
  composites: 'select id, array[row(id, mail)::app.pair, pair] as pairs, (pair).y as y from app.person',
  domains:
    'select id, mail::app.email as mail, coalesce(mail, $$none$$::app.email) as known, upper(mail) as loud, array[]::app.email[] || mail as mails from app.person',
  mails: 'select id, coalesce(array_agg(mail), array[]::app.email[]) as mails from app.person group by id',
  nicks:
    'select id, nick, coalesce(array_agg(nick), array[]::citext[]) as nicks, nick = $$RAW$$ as same, nick ~ $$^r$$ as begins from app.person group by id, nick',
  enums:
    'select id, mail, coalesce(ms, array[]::app.mood[]) as ms, m = any (array[$$a$$, $$b$$]::app.mood[]) as is_one, enum_range(m) as range from app.person',
  grouping:
    'select dept, m, grouping(dept, m) as level, count(mail) from app.person group by grouping sets ((dept, m), (dept), ())',
  rollups: 'select dept, max(mail) as mail from app.person group by rollup (dept) having count(*) > 0',
  windows:
    'select id, mail, row_number() over w as at, lag(mail) over w as former, first_value(nick) over (partition by m order by id) as first from app.person window w as (partition by dept order by id)',
  recursion:
    'with recursive r as (select id, mail, boss, 1 as depth, array[id] as path from app.person where boss is null union all select p.id, p.mail, p.boss, r.depth + 1, r.path || p.id from app.person p join r on p.boss = r.id) select * from r',
  unnested:
    'select p.id, p.mail, u.tag, u.at from app.person p cross join lateral unnest(p.tags) with ordinality u(tag, at)',
  unnestedRows: 'select u.id, u.mail from unnest((select array_agg(p) from app.person p)) u',
  series: 'select p.id, p.mail, g from app.person p, generate_series(1, 3) g where p.id >= g',
  generated: 'select id, short, length(short) as n, mail from app.person',
  joins:
    'select p.mail, d.name, b.mail as boss from app.person p join app.dept d on d.id = p.dept left join app.person b on b.id = p.boss where d.name <> $$x$$',
  partitioned: 'select id, mail from app.parted where id in (1, 2)',
  unions:
    'select id, mail::text from app.person union all select id, mail from app.parted union select id, name from app.dept',
  // Names that look like a field of a parsed view.
  fields:
    'with "c:relid" as (select id as "n:relid", mail from app.person) select "n:relid", mail as "m:relid", array[]::app.email[] || mail as mails from "c:relid" as "q:relid"',
  sub: 'select id, (select count(*) from app.person b where b.boss = a.id) as reports, exists (select from app.dept d where d.id = a.dept) as has, mail from app.person a where mail in (select mail from app.person where m is distinct from $$b$$)',
  nested:
    'select p.id, p.mail, s.shown from app.plain p join app.cases s using (id) where p.nick is not null',
  ranges:
    'select id, mail, daterange(since, null) @> current_date as is_in, age(since) as age, since + interval $$1 year$$ as next, extract(year from since) as y from app.person',
  texts: `select id, split_part(mail, '@', 2) as host, regexp_replace(mail, '^.', 'x') as hidden, substring(mail from 2) as rest, trim(both 'r' from mail) as t, position('@' in mail) as at, overlay(mail placing 'x' from 1 for 1) as o, mail like '%x' as l, format('%s <%s>', nick, mail) as f from app.person`,
  numbers:
    'select dept, round(avg(length(mail)), 2) as mean, percentile_cont(0.5) within group (order by id) as median, mode() within group (order by m) as usual, nullif(max(nick), $$x$$) as n, greatest(max(mail), $$a$$) as g from app.person group by dept',
  modes: 'select dept, mode() within group (order by mail) as usual from app.person group by dept',
  arrays:
    'select id, mail, tags[1] as first, tags || $$x$$::text as more, array(select b.mail from app.person b where b.boss = a.id) as mails, array(select b from app.person b) as people, tags && array[]::text[] as shares from app.person a',
  called: 'select id, app.label(mail) as l from app.person p',
  ofRow: 'select p.id, p.label_of as l from (select p.id, app.label(p.mail) as label_of from app.person p) p',
  rowsCompared:
    'select a.id, a.mail from app.person a join app.person b on (a.id, a.m) = (b.id, b.m) where row(a.id, a.mail) is not null and a is not null',
  jsonRecords: `select p.id, p.mail, r.a from app.person p cross join lateral jsonb_to_record(p.j) r(a text, m app.mood)`,
  populated: `select p.id, (jsonb_populate_record(null::app.person, p.j)).mail as mail from app.person p`,
  values: `select v.k, p.mail from (values (1, 'a'::app.mood), (2, 'b')) v(k, m) join app.person p on p.m = v.m`,
  limited: 'select id, mail from app.person order by mail collate "C" desc nulls last, id limit 10 offset 0',
  intersect: 'select mail from app.person except select mail from app.person where id < 0',
}
const extensions: Views = {
  xml: 'select id, xmlforest(mail as m, nick as n) as x, xmlelement(name p, xmlattributes(id as i), mail) as e from app.person',
  hstored: `select id, mail, h -> 'a' as a, h || hstore('b', mail) as more, hstore(p) as whole from app.person p`,
}
/** For PostgreSQL 16 and later. */
const json16: Views = {
  json16:
    'select id, json_object($$a$$: mail returning jsonb) as o, json_arrayagg(mail returning text) as q from app.person group by id, mail',
}
/** For PostgreSQL 17 and later. */
const json17: Views = {
  jsonValue: `select id, mail, json_value(j, '$.a' returning app.email) as e, json_value(j, '$.m' returning app.mood) as m, json_exists(j, '$.x') as x from app.person`,
  jsonPair: `select id, mail, json_query(j, '$.p' returning app.pair) as p from app.person`,
  jsonTable: `select p.id, p.mail, t.* from app.person p, json_table(p.j, '$' columns (n for ordinality, a text path '$.a', mo app.mood path '$.m', e app.email path '$.a', nested path '$.l[*]' columns (k int path '$'))) t`,
}

/** Of all of these, those that choose rows or values by a masked column. */
const choosing = new Set(
  `aggregates arrays called cases coalesced distinctOn fields hstored intersect json16 jsonRecords jsonTable
  jsonTableRow lateral limited nested nicks numbers ofPartitioned ofRow ofView recursion rowsCompared sub team toJsonb
  unions unnestedRows windows xml`.split(/\s+/),
)

forEachCluster((cluster) => {
  clause(
    'ENF-378',
    'Where a definition has a type of the rows of a masked relation, or of arrays of these,…',
    async () => {
      await using target = await createMaskedDatabase(cluster)
      const { sql } = target.database
      const reader = await target.createRole('reader')
      const major = majorOf(cluster)
      await sql.unsafe(`create schema app; grant usage on schema app to "${reader}"; create extension citext; create extension hstore;
        create type app.mood as enum ('a', 'b'); create domain app.email as text check (value <> ''); create type app.pair as (x int, y app.email);
        create table app.dept (id int primary key, name text);
        create table app.person (id int primary key, mail app.email, nick citext, boss int references app.person, dept int references app.dept, tags text[],
          m app.mood, ms app.mood[], pair app.pair, since date, h hstore, j jsonb, short text generated always as (left(mail, 3)) stored);
        create table app.parted (id int, mail text) partition by list (id); create table app.parted_1 partition of app.parted for values in (1);
        create function app.label(v text) returns text language sql immutable as 'select v';
        insert into app.dept values (1, 'dept'); insert into app.parted values (1, 'zqcanary');
        insert into app.person values (1, 'zqcanary@x', 'zqcanary', null, 1, '{a}', 'a', '{a}', row(1, 'zqcanary'), '2020-01-01', 'a=>zqcanary',
          '{"a": "zqcanary", "x": {"id": 3, "mail": "zqcanary"}}')`)
      const later = [...(major < 16 ? [] : [json16]), ...(major < 17 ? [] : [json17, jsonRows])]
      const views = Object.entries(Object.assign({}, everyday, extensions, rows, ...later) as Views)
      for (const [name, body] of views) await sql.unsafe(`create view app."${name}" as ${body}`)
      await sql.unsafe(`grant select on all tables in schema app to "${reader}"`)
      const hidden = ['mail', 'nick', 'ms', 'pair', 'h', 'j', 'short'].map((column) =>
        rule(`app.person.${column}`),
      )
      const rules = policy([...hidden, rule('app.parted.mail')])
      const notes = describeTurn(await takeTurn(target.database, rules))
      const { steps } = await takeTurn(target.database, rules)
      assert.deepEqual(steps, [])
      // PostgreSQL 14 has no views that read as their reader.
      const note = major < 15 ? 'NoTwin' : 'ReadsAsReader'
      const noted = notes.flatMap(({ code, target: of }) => (code === note ? [of.replace('app.', '')] : []))
      assert.deepEqual(
        noted.sort(),
        views
          .map(([name]) => name)
          .filter((name) => choosing.has(name))
          .sort(),
      )
      for (const [name] of views) {
        const isClosed = major < 15 && choosing.has(name)
        const shown = isClosed
          ? ''
          : JSON.stringify(await target.runAs('reader', `select * from masked_app."${name}"`))
        assert.doesNotMatch(shown, /zqc/, name)
        assert.match(
          await target.runAs('reader', `select * from app."${name}"`).then(String, String),
          /permission denied/,
          name,
        )
      }
    },
  )
})
