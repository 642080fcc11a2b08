interface Column {
  readonly type: string
  readonly isRequired: boolean
}

interface Relation {
  readonly columns: ReadonlyMap<string, Column>
  /** Constraints and unique indexes by name: rules that a row has to pass. */
  readonly rules: ReadonlyMap<string, string>
}

/**
 * Changes of the schema that nodes of the last release would not survive: tables, columns and sequences that went or changed
 * their type, columns that an insert of theirs leaves out, rules that their rows may break. Whether the new rows still
 * make sense to them is for the test of a rolling upgrade to show.
 */
export function findContractions(released: string, present: string): string[] {
  const [before, after] = [readRelations(released), readRelations(present)]
  const gone = [...listSequences(released)].filter((name) => !listSequences(present).has(name))
  return [
    ...gone.map((name) => `the sequence ${name} is gone`),
    ...[...before].flatMap(([name, relation]) => {
      const now = after.get(name)
      return now ? compareRelation(name, relation, now) : [`the table ${name} is gone`]
    }),
  ]
}

function compareRelation(name: string, before: Relation, after: Relation): string[] {
  const lost = [...before.columns].flatMap(([column, { type, isRequired }]) => {
    const now = after.columns.get(column)
    if (!now) return [`${name}.${column} is gone`]
    if (now.type !== type) return [`${name}.${column} was ${type} and is ${now.type}`]
    return now.isRequired && !isRequired ? [`${name}.${column} must have a value now`] : []
  })
  const added = [...after.columns]
    .filter(([column, { isRequired }]) => isRequired && !before.columns.has(column))
    .map(([column]) => `${name}.${column} is new and has no default`)
  const stricter = [...after.rules]
    .filter(([, text]) => ![...before.rules.values()].includes(text))
    .map(([rule]) => `${name} has the new rule ${rule}`)
  return [...lost, ...added, ...stricter]
}

function readRelations(schema: string): Map<string, Relation> {
  const tables = schema.matchAll(/^create (?:unlogged )?table (\w+) \(\n([\s\S]*?)\n\).*;$/gm)
  return new Map(
    [...tables].map(([, name = '', body = '']) => {
      const lines = body.split('\n').map((line) => line.trim().replace(/,$/, ''))
      const isRule = (line: string) => line.startsWith('constraint ')
      const unique = schema.matchAll(new RegExp(`^CREATE UNIQUE INDEX (\\w+) ON ${name} (.*);$`, 'gm'))
      const rules = [
        ...lines.filter(isRule).map((line) => readPair(line.slice('constraint '.length))),
        ...[...unique].map(([, index = '', text = '']) => [index, text] as const),
      ]
      return [
        name,
        {
          columns: new Map(lines.filter((line) => !isRule(line)).map(readColumn)),
          rules: new Map(rules),
        },
      ]
    }),
  )
}

function listSequences(schema: string): Set<string> {
  return new Set([...schema.matchAll(/^create sequence (\w+)/gm)].map(([, name = '']) => name))
}

function readColumn(line: string): [string, Column] {
  const [name, rest] = readPair(line)
  const [type = ''] = rest.split(/ (?:default|generated|not null)\b/)
  return [name, { type, isRequired: / not null$/.test(rest) && !/ (?:default|generated) /.test(rest) }]
}

function readPair(line: string): [string, string] {
  const at = line.startsWith('"') ? line.indexOf('" ') + 1 : line.indexOf(' ')
  return [line.slice(0, at), line.slice(at + 1)]
}
