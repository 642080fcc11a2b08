import fc from 'fast-check'

/** Statements over the tables of the oracle, most of which make sense: names repeat, and mean what is nearest. */
const table = fc.constantFrom(
  'customers',
  'staff',
  'people',
  'orders',
  'public.customers',
  'public.staff',
  'w',
)
const alias = fc.constantFrom('a', 'b', 'c', 'customers', 'email')
const column = fc.constantFrom('id', 'name', 'email', 'phone', 'sid', 'pay', 'home', 'mail', 'x')

interface Parts {
  readonly query: string
  readonly item: string
  readonly expression: string
}

const { query } = fc.letrec<Parts>((tie) => ({
  expression: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    column,
    fc.tuple(alias, column).map(([name, of]) => `${name}.${of}`),
    fc.constantFrom('1', 'null', 'count(*)', 'customers.email', 'staff.pay', 'public.customers.phone'),
    alias.map((name) => `${name}::text`),
    alias.map((name) => `row_to_json(${name})::text`),
    fc.tuple(alias, column).map(([name, of]) => `((${name}).${of})::text`),
    tie('expression').map((inner) => `coalesce((${inner})::text, '')`),
    tie('expression').map((inner) => `max((${inner})::text) over ()`),
    tie('query').map((inner) => `(select q::text from (${inner}) q limit 1)`),
    tie('query').map((inner) => `exists (${inner})`),
  ),
  item: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    table,
    fc.tuple(table, alias).map(([name, as]) => `${name} ${as}`),
    fc.tuple(table, alias).map(([name, as]) => `${name} as ${as} (id, y)`),
    fc.tuple(tie('query'), alias).map(([inner, as]) => `(${inner}) ${as}`),
    fc.tuple(tie('query'), alias).map(([inner, as]) => `lateral (${inner}) ${as}`),
    fc.tuple(tie('item'), tie('item')).map(([left, right]) => `${left} natural join ${right}`),
    fc.tuple(tie('item'), tie('item')).map(([left, right]) => `${left} left join ${right} using (id)`),
    fc
      .tuple(tie('item'), tie('item'), tie('expression'))
      .map(([left, right, on]) => `${left} join ${right} on (${on})::text = 'x'`),
    fc
      .tuple(tie('item'), tie('item'), alias)
      .map(([left, right, as]) => `(${left} cross join ${right}) as ${as}`),
    tie('expression').map((inner) => `upper((${inner})::text) as f`),
  ),
  query: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc
      .tuple(fc.constantFrom('*', '1', 'a.*', 'customers.*'), tie('item'))
      .map(([list, from]) => `select ${list} from ${from}`),
    fc.tuple(tie('expression'), tie('item')).map(([what, from]) => `select ${what} as id from ${from}`),
    fc
      .tuple(tie('expression'), tie('item'), tie('item'), tie('expression'))
      .map(
        ([what, from, other, where]) => `select ${what} from ${from}, ${other} where (${where})::text = 'x'`,
      ),
    fc
      .tuple(tie('expression'), tie('item'), tie('expression'))
      .map(([what, from, by]) => `select ${what} as name from ${from} order by ${by}`),
    fc.tuple(tie('query'), tie('query')).map(([first, rest]) => `with w as (${first}) ${rest}`),
    fc
      .tuple(tie('query'), tie('query'))
      .map(([one, two]) => `(select q::text from (${one}) q) union (select q::text from (${two}) q)`),
    tie('expression').map((what) => `select ${what} as email`),
  ),
}))

const change = fc.oneof(
  fc
    .tuple(query, column)
    .map(
      ([inner, of]) =>
        `update customers set name = (select q::text from (${inner}) q limit 1) where ${of} is null`,
    ),
  fc.tuple(query, column).map(([inner, of]) => `delete from staff using (${inner}) a where a.${of} is null`),
  query.map((inner) => `insert into orders (mail) select a::text from (${inner}) a`),
  fc.tuple(column, column).map(([of, by]) => `update customers c set name = c.${of}::text returning ${by}`),
)

export const statement: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: query },
  { weight: 1, arbitrary: change },
)
