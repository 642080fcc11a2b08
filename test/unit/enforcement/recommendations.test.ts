import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  isCardNumber,
  isEmail,
  isIban,
  isIpAddress,
  isPhoneNumber,
  isSocialSecurityNumber,
} from '../../../src/enforcement/recommendations/contents.ts'
import { judgeColumn, namePieces } from '../../../src/enforcement/recommendations/judge-column.ts'

const contents: [string, (value: string) => boolean, string[], string[]][] = [
  [
    'e-mail',
    isEmail,
    ['ann@example.com', 'a.b+c@mail.example.co.uk'],
    ['ann', '@b.c', 'a@b', 'a b@c.de', 'x@y.1'],
  ],
  [
    'card',
    isCardNumber,
    ['4111111111111111', '4111 1111 1111 1111', '5555-5555-5555-4444', '378282246310005'],
    [
      '4111111111111112',
      '1234567890123',
      '0000000000000000',
      '5555555555555555',
      '411111111111',
      'x4111111111111111',
    ],
  ],
  [
    'SSN',
    isSocialSecurityNumber,
    ['123-45-6789', '078 05 1120'],
    ['000-12-3456', '666-12-3456', '900-12-3456', '123-00-6789', '123456789', '123-45 6789'],
  ],
  [
    'IBAN',
    isIban,
    ['DE89370400440532013000', 'GB29 NWBK 6016 1331 9268 19'],
    ['DE89370400440532013001', 'DE8937040044', 'HELLO WORLD'],
  ],
  [
    'phone',
    isPhoneNumber,
    ['+49 30 1234567', '(555) 123-4567', '555-123-4567', '0301234567'],
    ['2024-01-31', '12345', '123-45-6789', '10.0.0.1', 'call me', '1234567890123456789'],
  ],
  ['IP', isIpAddress, ['10.0.0.1', '::1', '2001:db8::1/64'], ['10.0.0', '1.2.3.4.5', 'localhost']],
]

describe('what values look like', () => {
  for (const [name, looksLike, right, wrong] of contents)
    test(name, () => {
      assert.deepEqual(
        right.filter((value) => !looksLike(value)),
        [],
      )
      assert.deepEqual(wrong.filter(looksLike), [])
    })
})

const text = { baseName: 'text', category: 'S' }
const whole = { baseName: 'int8', category: 'N' }

describe('what a column holds', () => {
  test('names fall into words, and neighbours together', () => {
    const pieces = namePieces('creditCard_no2')
    for (const piece of ['credit', 'card', 'creditcard', 'cardno']) assert.ok(pieces.has(piece), piece)
    assert.ok(namePieces('Straße').has('strasse'))
    assert.ok(namePieces('prénom').has('prenom'))
  })

  const named: [string, typeof text, string | undefined, string | undefined][] = [
    ['email', text, 'EmailAddress', 'Email'],
    ['WorkEmail', text, 'EmailAddress', 'Email'],
    ['e_mail', text, 'EmailAddress', 'Email'],
    ['card_number', text, 'PaymentCard', 'CCN'],
    ['card_number', whole, 'PaymentCard', 'Default'],
    ['ssn', text, 'NationalId', 'SSN'],
    ['iban', text, 'BankAccount', 'Text'],
    ['mobile', text, 'PhoneNumber', 'Text'],
    ['annual_salary', { ...whole, baseName: 'numeric' }, 'Pay', 'Number'],
    ['dob', { baseName: 'date', category: 'D' }, 'BirthDate', 'Default'],
    ['home_address', text, 'Address', 'Default'],
    ['passport_number', text, 'IdentityDocument', 'Text'],
    ['password_hash', text, 'Secret', 'Default'],
    ['lastName', text, 'PersonName', 'Text'],
    ['has_email', { baseName: 'bool', category: 'B' }, undefined, undefined],
    ['company', text, undefined, undefined],
    ['panel', text, undefined, undefined],
    ['card', text, undefined, undefined],
    ['id', whole, undefined, undefined],
  ]
  for (const [name, type, kind, maskingFunction] of named)
    test(`by its name alone: ${name} as ${type.baseName}`, () => {
      const judged = judgeColumn({ name, ...type }, [])
      assert.equal(judged?.kind, kind)
      assert.equal(judged?.suggestion.maskingFunction, maskingFunction)
    })

  test('by its content alone, and more surely by both', () => {
    const mails = Array.from({ length: 20 }, (_, at) => `person${at}@example.com`)
    const alone = judgeColumn({ name: 'contact', ...text }, mails)
    const both = judgeColumn({ name: 'email', ...text }, mails)
    assert.equal(alone?.kind, 'EmailAddress')
    assert.ok((alone?.confidence ?? 0) >= 0.9 && (both?.confidence ?? 0) > (alone?.confidence ?? 1))
    assert.deepEqual(alone?.reasons, ['100 % of 20 sampled values look like an e-mail address'])
  })

  test('few or mixed values prove nothing', () => {
    assert.equal(judgeColumn({ name: 'contact', ...text }, ['a@example.com', 'b@example.com']), null)
    const mixed = Array.from({ length: 20 }, (_, at) => (at % 2 ? 'none' : `a${at}@example.com`))
    assert.equal(judgeColumn({ name: 'contact', ...text }, mixed), null)
  })

  test('a hint in the name and fitting values make a find', () => {
    const cards = [
      '4111111111111111',
      '5555555555554444',
      '378282246310005',
      '4012888888881881',
      '6011111111111117',
    ]
    assert.equal(judgeColumn({ name: 'card', ...text }, cards)?.suggestion.maskingFunction, 'CCN')
  })
})
