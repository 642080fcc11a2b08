/** For each Latin letter, characters of other alphabets that look like it, capital or small. */
const lookAlikes: Readonly<Record<string, string>> = {
  a: 'аАαΑɑᴀ4@',
  b: 'вВβΒЬ8',
  c: 'сСϲϹᴄⅽ',
  d: 'ԁᴅɗđĐ',
  e: 'еЕεΕєЄɛҽᴇ3',
  g: 'ɡց',
  h: 'һНнΗһ',
  k: 'кКκΚ',
  l: 'іІιΙıɩӏӀɪłŁ1|!i',
  m: 'мМΜᴍʍ',
  n: 'пηոռɴΝ',
  o: 'оОοΟσөօᴏøØ0',
  p: 'рРρΡᴘ',
  q: 'ԛգզ',
  r: 'гᴦʀɼ',
  s: 'ѕЅꜱʂ5$',
  t: 'тТτΤᴛ',
  u: 'υսᴜʋμ',
  v: 'νѵᴠ',
  x: 'хХχΧ',
  y: 'уУүΥγ',
}
const latinOf = new Map(
  Object.entries(lookAlikes).flatMap(([letter, others]) =>
    [...others].map((other) => [other, letter] as const),
  ),
)

/** A name reduced to its looks: without case, accents, spaces, signs and invisible characters, in Latin letters. */
export function outline(name: string): string {
  const letters = [...name.normalize('NFKD')].map((letter) => latinOf.get(letter) ?? letter)
  const plain = letters
    .join('')
    .toLowerCase()
    .replaceAll(/[\p{M}\p{C}\p{Z}\p{P}\p{S}]/gu, '')
  return [...plain]
    .map((letter) => latinOf.get(letter) ?? letter)
    .join('')
    .replaceAll('rn', 'm')
}
