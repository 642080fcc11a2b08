/** For each Latin letter, characters of other alphabets that look like it, capital or small. */
const lookAlikes: Readonly<Record<string, string>> = {
  a: 'ᎪꓮⲀⲁаАαΑɑᴀ4@',
  b: 'ᏴꓐⲂвВβΒЬ8',
  c: 'ᏟꓚⲤⲥсСϲϹᴄⅽ',
  d: 'ᎠꓓԁᴅɗđĐ',
  e: 'Ꭼꓰ℮⋿ⲈⲉеЕεΕєЄɛҽᴇ3',
  g: 'Ꮐꓖɡց',
  h: 'ᎻꓧⲎһНнΗһ',
  k: 'ᏦꓗⲔкКκΚ',
  l: 'ᏞꓡᎥꓲⲒⲓіІιΙıɩӏӀɪłŁ1|!i',
  m: 'ᎷꓟⲘмМΜᴍʍ',
  n: 'ꓠⲚпηոռɴΝ',
  o: 'ꓳⲞⲟоОοΟσөօᴏøØ0',
  p: 'ᏢꓑⲢрРρΡᴘ',
  q: 'ԛգզ',
  r: 'ᏒᎡꓣгᴦʀɼ',
  s: 'ᏚᏕꓢѕЅꜱʂ5$',
  t: 'ᎢꓔⲦтТτΤᴛ',
  u: 'ꓴՍυսᴜʋμ',
  v: 'Ꮩꓦνѵᴠ',
  x: 'ꓫⲬхХχΧ',
  y: 'ꓬⲨуУүΥγ',
}
const latinOf = new Map([
  ...Object.entries(lookAlikes).flatMap(([letter, others]) =>
    [...others].map((other) => [other, letter] as const),
  ),
  ...[0x1f150, 0x1f170, 0x1f1e6].flatMap(listEnclosed),
])

/** Letters in circles, squares and flags: 26 characters from the first one on. */
function listEnclosed(first: number): (readonly [string, string])[] {
  return [...'abcdefghijklmnopqrstuvwxyz'].map((letter, at) => [
    String.fromCodePoint(first + at),
    // Outlines do not tell i from l.
    letter === 'i' ? 'l' : letter,
  ])
}

function toLatin(letter: string): string {
  return latinOf.get(letter) ?? latinOf.get(letter.toUpperCase()) ?? letter
}

/** A name reduced to its looks: without case, accents, spaces and invisible characters, in Latin letters where possible. */
export function outline(name: string): string {
  const visible = name.normalize('NFKD').replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '')
  const plain = [...visible]
    .map(toLatin)
    .join('')
    .toLowerCase()
    .replaceAll(/[\p{M}\p{C}\p{Z}\p{Lm}]/gu, '')
  return [...plain].map(toLatin).join('').replaceAll('rn', 'm')
}

/**
 * True when a person could read the outline `own` in the other one, at its beginning or anywhere. A letter that is not
 * Latin may stand for any one letter, and a sign for one or none; half of the letters must be certain.
 */
export function readsAs(looks: string, own: string, where: 'beginning' | 'anywhere'): boolean {
  // For each number of letters of `own` that were read so far: how many of them are certain.
  let read = new Map([[0, 0]])
  for (const sign of looks) {
    const next = new Map<number, number>(where === 'anywhere' ? [[0, 0]] : [])
    const note = (letters: number, certain: number) =>
      next.set(letters, Math.max(certain, next.get(letters) ?? 0))
    for (const [letters, certain] of read) {
      if (/[\p{S}\p{P}]/u.test(sign)) note(letters, certain)
      if (sign === own[letters]) note(letters + 1, certain + 1)
      else if (!/[a-z0-9]/.test(sign)) note(letters + 1, certain)
    }
    if ((next.get(own.length) ?? 0) * 2 >= own.length) return true
    read = next
  }
  return false
}
