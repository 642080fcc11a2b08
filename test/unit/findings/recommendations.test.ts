import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  isCardNumber,
  isEmail,
  isIban,
  isIpAddress,
  isPhoneNumber,
  isSocialSecurityNumber,
} from '../../../src/findings/recommendations/contents.ts'
import { judgeColumn } from '../../../src/findings/recommendations/judge-column.ts'
import { wordsOf } from '../../../src/findings/recommendations/judge-name.ts'
import { kinds } from '../../../src/findings/recommendations/kinds.ts'

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
  test('names fall into words without accents and small words', () => {
    assert.deepEqual(wordsOf('creditCard_no2'), ['credit', 'card', 'no'])
    assert.deepEqual(wordsOf('Straße'), ['strasse'])
    assert.deepEqual(wordsOf('prénom'), ['prenom'])
    assert.deepEqual(wordsOf('fecha_de_nacimiento'), ['fecha', 'nacimiento'])
    assert.deepEqual(wordsOf('SSNNumber'), ['ssn', 'number'])
    assert.deepEqual(wordsOf('doğumTarihi'), ['dogum', 'tarihi'])
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
    ['card_last4', text, 'PaymentCard', 'Default'],
    ['email_sent_at', { baseName: 'timestamptz', category: 'D' }, undefined, undefined],
    ['email_sent', text, undefined, undefined],
    ['phone_verified', text, undefined, undefined],
    ['street_count', text, undefined, undefined],
    ['address_id', whole, undefined, undefined],
    ['ip_address', text, 'IpAddress', 'Default'],
    ['rechnungsadresse', text, 'Address', 'Default'],
    ['telefonnummer', text, 'PhoneNumber', 'Text'],
    ['numero_de_téléphone', text, 'PhoneNumber', 'Text'],
    ['doğum_tarihi', { baseName: 'date', category: 'D' }, 'BirthDate', 'Default'],
    ['name', text, undefined, undefined],
  ]
  for (const [name, type, kind, maskingFunction] of named)
    test(`by its name alone: ${name} as ${type.baseName}`, () => {
      const judged = judgeColumn({ name, ...type }, [])
      assert.equal(judged?.kind, kind)
      assert.equal(judged?.suggestion.maskingFunction, maskingFunction)
    })

  test("a name is a person's in a table of people, an array and a JSON document are masked as a whole", () => {
    assert.equal(judgeColumn({ name: 'name', table: 'customers', ...text }, [])?.kind, 'PersonName')
    assert.equal(judgeColumn({ name: 'brand_name', table: 'customers', ...text }, []), null)
    const emails = judgeColumn({ name: 'emails', isArray: true, ...text }, [])
    assert.deepEqual(emails?.suggestion, { maskingFunction: 'Default' })
    const json = { name: 'profile', baseName: 'jsonb', category: 'U' }
    const documents = Array.from({ length: 6 }, (_, at) =>
      JSON.stringify({ size: 'x', contacts: [{ mail: `ann${at}@example.com` }] }),
    )
    const judged = judgeColumn(json, documents)
    assert.equal(judged?.kind, 'EmailAddress')
    assert.deepEqual(judged?.suggestion, { maskingFunction: 'Default' })
    assert.deepEqual(judged?.reasons, [
      "one of its keys has 'mail' in it, as an e-mail address would",
      '100 % of 6 sampled values under one of its keys look like an e-mail address',
    ])
    // Keys can be values: the reasons have none of them, and a document that was cut is read as far as it goes.
    const cut = documents.map((document) => `{"ann.smith@example.com": 1, ${document.slice(1, -6)}`)
    const found = judgeColumn(json, cut)
    assert.equal(found?.kind, 'EmailAddress')
    assert.ok(!JSON.stringify(found).includes('smith'))
    assert.equal(judgeColumn(json, ['{"a": 1}', '{"b": [true]}', '[]', '7', '"x"']), null)
  })

  test('free text with addresses and numbers in it', () => {
    const calm = Array.from(
      { length: 50 },
      (_, at) => `Order ${at} was packed on time, 12 items, shelf 4-17.`,
    )
    assert.equal(judgeColumn({ name: 'body', ...text }, calm), null)
    const mixed = [...calm, 'Please write to ann@example.com soon.', 'Call +49 30 1234567 in the evening.']
    const judged = judgeColumn({ name: 'body', ...text }, mixed)
    assert.equal(judged?.kind, 'FreeText')
    assert.deepEqual(judged?.suggestion, { maskingFunction: 'Default' })
    assert.equal(judgeColumn({ name: 'x', ...text }, mixed)?.kind, 'FreeText')
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

test('each kind of kinds.json has words as names are split, and what masks it', () => {
  const functions = ['CCN', 'Default', 'Email', 'Number', 'SSN', 'Text']
  const forms = ['text', 'number', 'date', 'network', 'binary']
  assert.ok(kinds.length > 0)
  for (const { kind, words, hints, ofPeople, suggestion, ...rest } of kinds) {
    const all = [...words, ...hints, ...ofPeople]
    assert.deepEqual(all.flatMap(wordsOf), all, kind)
    assert.ok(functions.includes(suggestion.maskingFunction), kind)
    assert.ok(rest.forms.length > 0 && rest.forms.every((form) => forms.includes(form)), kind)
    assert.equal(rest.looksLike !== undefined, rest.contentConfidence !== undefined, kind)
  }
})
