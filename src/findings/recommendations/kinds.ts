import type { Suggestion } from '../../contracts/inspection.ts'
import {
  holdsPersonalData,
  isCardNumber,
  isEmail,
  isIban,
  isIpAddress,
  isPhoneNumber,
  isSocialSecurityNumber,
} from './contents.ts'

/** The kind of values that a type holds, as far as kinds of data differ by it. */
export type Form = 'text' | 'number' | 'date' | 'network' | 'binary'

/** A kind of sensitive data: how it is called, how it looks, and what masks it well. */
export interface Kind {
  readonly kind: string
  readonly noun: string
  /**
   * Words that say so by themselves, in lower case without accents; several languages' common ones. A name of several
   * words is one here: `dateofbirth`, without small words such as "de" and "of".
   */
  readonly words: readonly string[]
  /** The same for words that may mean something else as well. */
  readonly hints?: readonly string[]
  /** Words that say so in a table about people alone. */
  readonly ofPeople?: readonly string[]
  readonly forms: readonly Form[]
  looksLike?(value: string): boolean
  /** How much to believe a column all of whose sampled values look like it. */
  readonly contentConfidence?: number
  /** The share of values that has to look like it; most of them unless given. */
  readonly leastShare?: number
  readonly suggestion: Suggestion
}

const last4: Suggestion = {
  maskingFunction: 'Text',
  prefixSize: '0',
  suffixSize: '4',
  replacementString: 'XXXX',
}
const last2: Suggestion = { ...last4, suffixSize: '2' }
const whole: Suggestion = { maskingFunction: 'Default' }
const textOrNumber: readonly Form[] = ['text', 'number']

const list = (words: string): readonly string[] => words.trim().split(/\s+/)

export const kinds: readonly Kind[] = [
  {
    kind: 'EmailAddress',
    noun: 'an e-mail address',
    words: list(`email emailaddress emailaddr mailaddress mailadresse emailadresse courriel adressemail correo
      correoelectronico postaelettronica emailadres adresemail eposta epost epostadress sahkoposti mail eml`),
    hints: list('upn userprincipalname replyto'),
    forms: ['text'],
    looksLike: isEmail,
    contentConfidence: 0.95,
    suggestion: { maskingFunction: 'Email' },
  },
  {
    kind: 'PaymentCard',
    noun: 'a payment card number',
    words: list(`creditcard creditcardnumber cardnumber cardno cardnum ccn ccnumber
      pan kreditkarte kreditkartennummer kartennummer tarjeta numerotarjeta tarjetacredito cartebancaire cartecredit
      numerocarte cartacredito numerocarta numerocartao cartaocredito kaartnummer creditcardnummer numerkarty
      kartnumarasi
      kartno kortnummer kortnr ccnum ccno cislokarty`),
    hints: list('card cc carte carta cartao karte kaart'),
    forms: textOrNumber,
    looksLike: isCardNumber,
    contentConfidence: 0.95,
    suggestion: { maskingFunction: 'CCN' },
  },
  {
    // CCN shows the last four digits, which are all that such a column has.
    kind: 'PaymentCard',
    noun: 'the end of a payment card number',
    words: list('cardlast cardlastfour cardlastdigits cclast'),
    forms: textOrNumber,
    suggestion: whole,
  },
  {
    kind: 'NationalId',
    noun: 'a national identification number',
    words:
      list(`ssn socialsecurity socialsecuritynumber socialsecurityno nationalid nationalidnumber nationalinsurance
      insurancenumber personnummer dni nie nino aadhaar bsn burgerservicenummer pesel cpf codicefiscale
      sozialversicherungsnummer versicherungsnummer securitesociale numerosecuritesociale numerosecu tckimlik tckimlikno
      kimlikno identitynumber idcardnumber personalidnumber numsecu cpr cprnummer fodselsnummer
      henkilotunnus hetu rodnecislo`),
    hints: list('sin nin social'),
    forms: textOrNumber,
    looksLike: isSocialSecurityNumber,
    contentConfidence: 0.75,
    suggestion: { maskingFunction: 'SSN' },
  },
  {
    kind: 'BankAccount',
    noun: 'a bank account',
    words:
      list(`iban bankaccount bankaccountnumber accountnumber accountno routingnumber sortcode kontonummer bankverbindung
      clabe comptebancaire numerocompte cuentabancaria numerocuenta contocorrente contobancario contabancaria
      numeroconta
      rekeningnummer bankrekening numerkonta kontobankowe hesapno hesapnumarasi bankkonto acctno acctnumber accountnr
      cisloctu tilinumero`),
    hints: list('bic swift konto'),
    forms: textOrNumber,
    looksLike: isIban,
    contentConfidence: 0.97,
    suggestion: last4,
  },
  {
    kind: 'PhoneNumber',
    noun: 'a telephone number',
    words:
      list(`phone phoneno phonenumber mobile mobileno mobilenumber mobilephone telephone telephonenumber telefon
      telefonnummer telefono telefone telefoon telefoonnummer telefonu telefonno cellphone cellnumber msisdn handy
      handynummer mobilnummer mobiel mobielnummer movil celular cellulare numerotelephone numerotelefono numertelefonu
      ceptelefonu fax faxnumber faxnummer tel telno telnr tlf tlfno phonenum mob mobil mobilnr smsnumber puhelin
      puhelinnumero gsm gsmnummer`),
    hints: list('cell portable whatsapp'),
    forms: textOrNumber,
    looksLike: isPhoneNumber,
    contentConfidence: 0.6,
    suggestion: last2,
  },
  {
    kind: 'IpAddress',
    noun: 'a network address',
    words:
      list(`ipaddress ipaddr clientip remoteip sourceip loginip userip indirizzoip adresseip direccionip ipadresse
      ipadres ipallowlist ipdenylist macaddress macaddr macadresse`),
    hints: list('ip'),
    forms: ['text', 'network'],
    looksLike: isIpAddress,
    contentConfidence: 0.7,
    suggestion: whole,
  },
  {
    kind: 'Pay',
    noun: "a person's pay",
    words:
      list(`salary salaries wage income payroll compensation gehalt lohn salaire salario sueldo nomina stipendio
      retribuzione ordenado salaris wynagrodzenie pensja maas loen palkka mzda bruttolohn nettolohn basepay
      grosspay netpay`),
    hints: list('bonus pay earnings'),
    forms: ['number'],
    suggestion: { maskingFunction: 'Number', numberFrom: '0', numberTo: '1000' },
  },
  {
    kind: 'BirthDate',
    noun: 'a date of birth',
    words:
      list(`dob birth birthday birthdate datebirth birthyear yearbirth bornon geburtsdatum geburtstag datenaissance
      naissance fechanacimiento nacimiento datanascita nascita datanascimento nascimento geboortedatum dataurodzenia
      urodzenia dogumtarihi dogum fodelsedatum fodselsdato foedselsdag foedselsdato fodselsdag gebdat syntymaaika born
      datumnarozeni`),
    forms: ['text', 'number', 'date'],
    suggestion: whole,
  },
  {
    kind: 'Address',
    noun: 'a postal address',
    words:
      list(`address street streetaddress streetname homeaddress addressline addr housenumber houseno adresse
      strasse hausnummer anschrift rue direccion calle domicilio indirizzo endereco rua logradouro straat straatnaam
      huisnummer ulica adreszamieszkania adreszameldowania sokak cadde gatuadress gata postcode zip zipcode
      postalcode plz
      postleitzahl codepostal codigopostal cep kodpocztowy postakodu postnummer postnr zipcd ulice psc osoite
      postinumero vej vejnavn`),
    hints: list('adres via line'),
    ofPeople: list('adres via cap'),
    forms: ['text'],
    suggestion: whole,
  },
  {
    kind: 'IdentityDocument',
    noun: 'the number of a passport or licence',
    words:
      list(`passport passportnumber passportno driverslicense driverlicense drivinglicence licensenumber licencenumber
      reisepass reisepassnummer fuhrerschein fuehrerschein personalausweis ausweis ausweisnummer passeport
      numeropasseport
      permisconduire pasaporte passaporto carteidentite cartaidentita paspoort paspoortnummer paszport numerpaszportu
      dowodosobisty pasaport pasaportno ehliyet visanumber visano licenseplate licenceplate numberplate kennzeichen`),
    forms: textOrNumber,
    suggestion: last2,
  },
  {
    kind: 'TaxNumber',
    noun: 'a tax number',
    words:
      list(`taxid taxnumber taxno tin vatnumber vatid steuernummer steuerid ustid nif partitaiva numerofiscal
      numerofiscale btwnummer nip verginumarasi vergino numerotva nifcif`),
    forms: textOrNumber,
    suggestion: last4,
  },
  {
    kind: 'Secret',
    noun: 'a secret',
    words:
      list(`password passwd passwordhash pwd passphrase passcode secret apikey accesstoken refreshtoken resettoken
      sessiontoken sessionkey authtoken privatekey clientsecret pin pincode cvv cvc passwort kennwort motdepasse
      motpasse
      contrasena clave senha wachtwoord haslo parola sifre losenord heslo salasana adgangskode passord token
      recoverycode backupcode securityanswer`),
    hints: list('salt otp hash'),
    forms: ['text', 'number', 'binary'],
    suggestion: whole,
  },
  {
    kind: 'PersonName',
    noun: "a person's name",
    words:
      list(`firstname lastname surname fullname givenname familyname middlename maidenname nickname cardholder
      cardholdername nextkin personname contactname customername employeename patientname vorname nachname familienname
      kundenname prenom nomfamille apellido nombrecompleto cognome nomecompleto sobrenome voornaam achternaam imie
      nazwisko
      soyad adsoyad soyadi fornamn efternamn fname lname fornavn efternavn etternavn etunimi
      sukunimi jmeno prijmeni nomusage nomnaissance`),
    hints: list('holder'),
    ofPeople: list('name nom nombre nome naam namn navn nimi nm ad displayname'),
    forms: ['text'],
    suggestion: { maskingFunction: 'Text', prefixSize: '1', suffixSize: '0', replacementString: 'XXXX' },
  },
  {
    kind: 'Health',
    noun: 'something about health',
    words:
      list(`diagnosis diagnoses icd medication bloodtype bloodgroup disability diagnose allergies allergy krankheit
      befund maladie enfermedad malattia doenca ziekte choroba hastalik`),
    forms: ['text', 'number'],
    suggestion: whole,
  },
  {
    kind: 'FreeText',
    noun: 'text with personal data in it',
    words: [],
    hints:
      list(`note comment body message remark memo bemerkung notiz kommentar commentaire remarque nota comentario
      observaciones osservazioni opmerking uwagi aciklama observacoes feedback transcript bio`),
    forms: ['text'],
    looksLike: holdsPersonalData,
    leastShare: 0.02,
    contentConfidence: 0.7,
    suggestion: whole,
  },
]

/** Words of tables whose rows are people. */
export const peopleWords: ReadonlySet<string> = new Set(
  list(`customer client user employee person people contact patient member staff passenger guest student teacher
  subscriber
    applicant candidate reviewer author owner holder recipient sender cust driver tenant kunde kunden mitarbeiter
    benutzer nutzer personen patienten mitglied mitglieder utilisateur
    personne employe salarie cliente usuario empleado persona personas utente utenti dipendente pessoa funcionario
    klant klanten medewerker gebruiker klient klienci pracownik pracownicy uzytkownik osoba osoby musteri musteriler
    calisan
    kullanici kund kunder anstalld medlem medlemmer adherent adherents contacto kontakt asiakas asiakkaat zakaznik
    zakaznici beneficiary`),
)

/** Words that make a name mean something about the data, and not the data: `email_sent_at`, `street_count`. */
export const aboutWords: ReadonlySet<string> = new Set(
  list(`count counts total sum avg average rate ratio sent verified confirmed validated valid at is has can
    flag enabled disabled active status state type kind format template subject optin consent preference preferences
    provider
    domain bounced bounce bounces opened clicked required length len size limit quota attempts retries expires expiry
    expired
    expiration changed updated created deleted reset days id ids uuid fk index brand currency band grade level rotation
    label order only list prefix period method date frequency mode terms cnt flg len depth ext queue reminder family
    version lights belag stand satz gruppe host server url path policy title
    anzahl gesendet versendet bestatigt bestaetigt gepruft verifiziert am nb nbre envoye verifie confirme le
    total enviado verificado confirmado cantidad quantidade inviato verificato confermato quantita aantal
    verzonden bevestigd liczba wyslany potwierdzony sayisi gonderildi dogrulandi onaylandi antal skickad`),
)

/** Small words inside of names. */
export const fillers: ReadonlySet<string> = new Set(
  list('of the de du des da do dos di del della la le les d l van der'),
)

/** Ends that change nothing: `telefonnummer`, `emailaddress`. */
export const ends: readonly string[] = list('nummer number numer nr no num adresse address adres')
