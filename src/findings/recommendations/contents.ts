import { isIP } from 'node:net'

export function isEmail(value: string): boolean {
  return /^[^\s@"'<>]{1,64}@[a-z0-9-]+(\.[a-z0-9-]+)*\.[a-z]{2,24}$/i.test(value)
}

/** 13 to 19 digits, grouped or not, of a known issuer's range, with Luhn's check digit. */
export function isCardNumber(value: string): boolean {
  if (!/^\d[\d -]{11,22}\d$/.test(value)) return false
  const digits = value.replaceAll(/[ -]/g, '')
  return /^[3-6]\d{12,18}$/.test(digits) && !/^(\d)\1+$/.test(digits) && passesLuhn(digits)
}

function passesLuhn(digits: string): boolean {
  let sum = 0
  for (let at = 0; at < digits.length; at++) {
    const digit = Number(digits[digits.length - 1 - at])
    const doubled = digit * 2
    sum += at % 2 === 0 ? digit : doubled > 9 ? doubled - 9 : doubled
  }
  return sum % 10 === 0
}

/** With dashes or spaces; the parts that were never given out are left out. Nine digits alone say too little. */
export function isSocialSecurityNumber(value: string): boolean {
  const [, area = '', , group = '', serial = ''] = /^(\d{3})([- ])(\d{2})\2(\d{4})$/.exec(value) ?? []
  return (
    area !== '' && area !== '000' && area !== '666' && area < '900' && group !== '00' && serial !== '0000'
  )
}

/** Country, two check digits, and the remainder of 97 that proves them. */
export function isIban(value: string): boolean {
  const compact = value.replaceAll(' ', '').toUpperCase()
  if (!/^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$/.test(compact)) return false
  const moved = compact.slice(4) + compact.slice(0, 4)
  let remainder = 0
  for (const character of moved)
    for (const digit of String(Number.parseInt(character, 36)))
      remainder = (remainder * 10 + Number(digit)) % 97
  return remainder === 1
}

/** In a form that people write numbers to call in; digits alone could be anything. */
export function isPhoneNumber(value: string): boolean {
  if (!/^(\+|00|0\d|\(|\d{3}[-. ])[\d\s().\-/]{5,22}$/.test(value)) return false
  const digits = value.replaceAll(/\D/g, '')
  const isDate = /^\d{4}[-./]\d{2}[-./]\d{2}/.test(value)
  return (
    digits.length >= 7 &&
    digits.length <= 15 &&
    !isDate &&
    !isSocialSecurityNumber(value) &&
    isIP(value) === 0
  )
}

export function isIpAddress(value: string): boolean {
  return isIP(value.replace(/\/\d{1,3}$/, '')) !== 0
}

const somewhere: readonly (readonly [RegExp, (found: string) => boolean])[] = [
  [/[^\s@"'<>,;:()]{1,64}@[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,24}/gi, isEmail],
  [/\b\d(?:[ -]?\d){12,18}\b/g, isCardNumber],
  [/\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}\b/g, isIban],
  [/\b\d{3}([- ])\d{2}\1\d{4}\b/g, isSocialSecurityNumber],
  [/\+\d[\d ()./-]{7,18}\d\b/g, isPhoneNumber],
]

/** True for a longer text with an e-mail address, a telephone, card or account number somewhere in it. */
export function holdsPersonalData(text: string): boolean {
  return somewhere.some(([pattern, isMeant]) =>
    (text.match(pattern) ?? []).some((found) => isMeant(found) && found.length < text.length),
  )
}

/** By the names that `kinds.json` has. */
export const contents = {
  isEmail,
  isCardNumber,
  isSocialSecurityNumber,
  isIban,
  isPhoneNumber,
  isIpAddress,
  holdsPersonalData,
}
