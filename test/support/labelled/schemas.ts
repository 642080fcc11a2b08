/**
 * Columns as databases of small companies have them, in ten languages. A line with no indentation is a table, the others
 * are its columns: name, type, the kind of sensitive data or `-`, and what its rows hold where that is not plain.
 */
export const labelledSchemas = `
customers
  id int4 -
  first_name text PersonName
  last_name varchar(80) PersonName
  email varchar(200) EmailAddress
  email_sent_at timestamptz -
  email_verified bool -
  email_template text - prose
  phone text PhoneNumber
  phone_verified text - word
  phone_type text - word
  street text Address
  street_count int4 -
  city text -
  country_code char(2) -
  postal_code text Address
  date_of_birth date BirthDate
  loyalty_points int4 -
  preferred_language text -
  created_at timestamptz -
  marketing_consent bool -
users
  id int8 -
  name text PersonName
  email text EmailAddress
  password_hash text Secret
  password_changed_at timestamptz -
  password_attempts int4 -
  reset_token text Secret
  token_expires_at timestamptz -
  last_login_ip inet IpAddress
  login_count int4 -
  role text -
  avatar_url text - url
  locale text -
  is_active bool -
  settings jsonb - json
  profile jsonb EmailAddress jsonPerson
employees
  employee_no int4 -
  fullName text PersonName
  job_title text -
  salary numeric(10,2) Pay
  salary_currency char(3) -
  salary_band text -
  hired_on date -
  ssn text NationalId
  nationalId text NationalId
  bankAccount text BankAccount
  iban text BankAccount
  emergencyContactPhone text PhoneNumber
  work_email text EmailAddress
  email_domain text -
  manager_id int4 -
  department text -
  bonus_count int4 -
  passport_number text IdentityDocument
  passport_expires_on date -
  blood_type text Health
orders
  order_id int8 -
  customer_id int4 -
  status text -
  total numeric(12,2) -
  currency text -
  shipping_address text Address
  shipping_address_id int4 -
  shipping_method text -
  billing_address text Address
  card_last4 text PaymentCard last4
  card_brand text -
  card_expiry text -
  card_holder text PersonName
  coupon_code text -
  placed_at timestamptz -
  notes text FreeText prosePerson
  item_count int4 -
  weight_kg numeric -
  tracking_number text -
payments
  payment_id uuid -
  credit_card_number text PaymentCard
  ccn varchar(19) PaymentCard
  cvv text Secret
  amount numeric(12,2) -
  card_type text -
  account_number text BankAccount
  account_type text -
  routing_number text BankAccount
  sort_code text BankAccount
  processor text -
  reference text -
  retries int4 -
  payer jsonb EmailAddress jsonPayer
  metadata jsonb - json
  fee numeric -
products
  sku text -
  name text -
  description text - prose
  price numeric -
  brand_name text -
  file_name text -
  image_path text - url
  tags text[] -
  panel_size text -
  stock_count int4 -
  address_label_size text -
  mail_order_only bool -
  handbook_url text - url
  pin_count int2 -
  cardinality int4 -
tickets
  ticket_id int4 -
  subject text - prose
  body text FreeText prosePerson
  message text FreeText prosePerson
  cc_emails text[] EmailAddress emails
  watchers text[] -
  priority text -
  phone_numbers text[] PhoneNumber phones
  contact text EmailAddress emails
  source_ip text IpAddress
  ip_count int4 -
  user_agent text -
  attachment_count int4 -
  opened_by int4 -
  resolution text - prose
companies
  company_id int4 -
  company_name text -
  legal_name text -
  vat_number text TaxNumber
  tax_id text TaxNumber
  tax_rate numeric -
  website text - url
  industry text -
  founded_on date -
  employee_count int4 -
  address_format text -
  mailing_list_size int4 -
  mailbox_quota int4 -
  phone_prefix_length int2 -
events
  event_id int8 -
  event_name text -
  venue_name text -
  payload jsonb PhoneNumber jsonPhones
  device_id uuid -
  client_ip text IpAddress
  happened_at timestamptz -
  host_name text -
  address_family text -
  session_key_hash text Secret
  street_lights_on bool -
  emails_opened int4 -
  email_bounce_rate float8 -
patients
  patient_id int4 -
  givenName text PersonName
  familyName text PersonName
  middle_initial text -
  dob date BirthDate
  diagnosis text Health
  allergies text[] Health words
  medication text Health
  insurance_number text NationalId code
  next_of_kin text PersonName
  room_number text -
  home_phone text PhoneNumber
  mobile text PhoneNumber
  height_cm int4 -
  visit_count int4 -
  doctor_notes text FreeText prosePerson
contacts
  contact_id int4 -
  name text PersonName
  nickname text PersonName
  mobile_no text PhoneNumber
  fax text PhoneNumber
  home_address text Address
  address_line_1 text Address
  address_line_2 text Address
  house_number text Address
  zip text Address
  state text -
  notes_count int4 -
  birthday date BirthDate
  birthday_reminder bool -
api_keys
  key_id int4 -
  api_key text Secret
  access_token text Secret
  private_key text Secret
  key_name text -
  token_type text -
  scopes text[] -
  last_used_at timestamptz -
  secret_rotation_days int4 -
devices
  serial_number text -
  mac_address macaddr IpAddress
  ip_address inet IpAddress
  ip_version int2 -
  model_name text -
  port int4 -
kunden
  kunden_nr int4 -
  vorname text PersonName
  nachname text PersonName
  geburtsdatum date BirthDate
  strasse text Address
  hausnummer text Address
  plz text Address
  ort text -
  telefonnummer text PhoneNumber
  telefon_privat text PhoneNumber
  handynummer text PhoneNumber
  e_mail_adresse text EmailAddress
  email_gesendet_am timestamptz -
  telefon_bestaetigt bool -
  anzahl_adressen int4 -
  kontonummer text BankAccount
  kontostand numeric -
  kreditkartennummer text PaymentCard
  bemerkung text FreeText prosePerson
  steuernummer text TaxNumber
  steuersatz numeric -
mitarbeiter
  personalnummer int4 -
  name text PersonName
  gehalt numeric Pay
  gehaltsgruppe text -
  sozialversicherungsnummer text NationalId code
  reisepassnummer text IdentityDocument
  passwort text Secret
  rechnungsadresse text Address
  strassenbelag text -
  abteilung text -
  eintrittsdatum date -
  krankheit text Health
  privatadresse text Address
clients
  client_id int4 -
  nom text PersonName
  prenom text PersonName
  nom_de_famille text PersonName
  adresse text Address
  rue text Address
  code_postal text Address
  ville text -
  date_de_naissance date BirthDate
  numero_de_telephone text PhoneNumber
  telephone_verifie text - word
  courriel text EmailAddress
  nombre_emails int4 -
  email_envoye_le timestamptz -
  mot_de_passe text Secret
  numero_de_securite_sociale text NationalId code
  carte_bancaire text PaymentCard
  compte_bancaire text BankAccount
  salaire numeric Pay
  commentaire text FreeText prosePerson
  statut text -
  pays text -
clientes
  id_cliente int4 -
  nombre text PersonName
  apellidos text PersonName
  direccion text Address
  calle text Address
  codigo_postal text Address
  ciudad text -
  telefono text PhoneNumber
  telefono_movil text PhoneNumber
  correo_electronico text EmailAddress
  correo_enviado bool -
  fecha_de_nacimiento date BirthDate
  fecha_alta date -
  numero_tarjeta text PaymentCard
  cuenta_bancaria text BankAccount
  dni text NationalId code
  contrasena text Secret
  sueldo numeric Pay
  observaciones text FreeText prosePerson
  total_correos int4 -
  estado text -
utenti
  id_utente int4 -
  nome text PersonName
  cognome text PersonName
  indirizzo text Address
  via text Address
  cap text Address
  citta text -
  data_di_nascita date BirthDate
  telefono_cellulare text PhoneNumber
  posta_elettronica text EmailAddress
  codice_fiscale text NationalId code
  partita_iva text TaxNumber
  stipendio numeric Pay
  conto_corrente text BankAccount
  numero_carta text PaymentCard
  note text FreeText prosePerson
  data_iscrizione date -
  indirizzo_ip text IpAddress
  stato text -
  numero_indirizzi int4 -
clientes_br
  codigo int4 -
  nome_completo text PersonName
  sobrenome text PersonName
  endereco text Address
  rua text Address
  cep text Address
  cidade text -
  telefone text PhoneNumber
  celular text PhoneNumber
  e_mail text EmailAddress
  email_confirmado bool -
  data_de_nascimento date BirthDate
  cpf text NationalId code
  numero_do_cartao text PaymentCard
  conta_bancaria text BankAccount
  salario numeric Pay
  senha text Secret
  situacao text -
  quantidade_enderecos int4 -
klanten
  klantnummer int4 -
  voornaam text PersonName
  achternaam text PersonName
  straatnaam text Address
  huisnummer text Address
  postcode text Address
  woonplaats text -
  telefoonnummer text PhoneNumber
  mobiel_nummer text PhoneNumber
  emailadres text EmailAddress
  email_verzonden_op timestamptz -
  geboortedatum date BirthDate
  bsn text NationalId code
  rekeningnummer text BankAccount
  wachtwoord text Secret
  salaris numeric Pay
  opmerkingen text FreeText prosePerson
  aantal_adressen int4 -
  land text -
klienci
  id_klienta int4 -
  imie text PersonName
  nazwisko text PersonName
  ulica text Address
  kod_pocztowy text Address
  miasto text -
  numer_telefonu text PhoneNumber
  telefon_komorkowy text PhoneNumber
  adres_email text EmailAddress
  email_wyslany timestamptz -
  data_urodzenia date BirthDate
  data_utworzenia date -
  pesel text NationalId code
  nip text TaxNumber
  numer_konta text BankAccount
  haslo text Secret
  wynagrodzenie numeric Pay
  adres_zamieszkania text Address
  uwagi text FreeText prosePerson
  liczba_adresow int4 -
musteriler
  musteri_no int4 -
  ad text PersonName
  soyad text PersonName
  ad_soyad text PersonName
  adres text Address
  sokak text Address
  posta_kodu text Address
  sehir text -
  telefon_no text PhoneNumber
  cep_telefonu text PhoneNumber
  e_posta text EmailAddress
  eposta_gonderildi bool -
  dogum_tarihi date BirthDate
  tc_kimlik_no text NationalId code
  kart_numarasi text PaymentCard
  hesap_no text BankAccount
  parola text Secret
  maas numeric Pay
  aciklama text FreeText prosePerson
  adres_sayisi int4 -
  durum text -
kunder
  kundnummer int4 -
  fornamn text PersonName
  efternamn text PersonName
  gatuadress text Address
  postnummer text Address
  stad text -
  telefonnummer text PhoneNumber
  epost text EmailAddress
  personnummer text NationalId code
  fodelsedatum date BirthDate
  lon numeric Pay
  losenord text Secret
  antal_adresser int4 -
  skapad timestamptz -
stores
  store_id int4 -
  store_name text -
  opening_hours jsonb - json
  manager_email text EmailAddress
  reply_to text EmailAddress emails
  region_code text -
  latitude float8 -
  longitude float8 -
  lat float8 -
  lon float8 -
audit
  actor text EmailAddress emails
  action text -
  target text - url
  details jsonb IpAddress jsonIps
  occurred timestamptz -
  duration_ms int4 -
legacy
  f1 text EmailAddress emails
  f2 text PaymentCard cards
  f3 text BankAccount ibans
  f4 text - codes
  f5 text PhoneNumber phones
  f6 text NationalId ssns
  f7 int4 -
  f8 text - word
  f9 text IpAddress ips
  f10 text - url
`

/**
 * More of the same, written after the words and in other habits: short forms, prefixes, other languages. The first run on
 * them is in bench/README.md; words that were missing were added after it.
 */
export const laterSchemas = `
cust_mst
  cust_cd text -
  cust_nm text PersonName
  fname text PersonName
  lname text PersonName
  addr1 text Address
  addr2 text Address
  zipcd text Address
  tel_no text PhoneNumber
  mob text PhoneNumber
  eml text EmailAddress
  dob_dt date BirthDate
  cc_num text PaymentCard
  acct_no text BankAccount
  usr_pwd text Secret
  crt_dt timestamptz -
  addr_cnt int4 -
  eml_flg text -
  tel_ext_len int4 -
tblPersonal
  PersNr int4 -
  AnsprechpartnerTelefon text PhoneNumber
  TelNr text PhoneNumber
  GebDat date BirthDate
  IbanNr text BankAccount
  Kennwort text Secret
  Wohnort text -
  Anschrift text Address
  MailVersandt bool -
  NamensTag date -
  Lohnsteuerklasse text -
  Bruttolohn numeric Pay
adherents
  id_adherent int4 -
  nom_usage text PersonName
  tel_portable text PhoneNumber
  mail_perso text EmailAddress
  adresse_postale text Address
  date_adhesion date -
  num_secu text NationalId
  nb_enfants int4 -
  salaire_brut numeric Pay
  notes_internes text FreeText prosePerson
proveedores
  razon_social text -
  nif_cif text TaxNumber
  tlf_contacto text PhoneNumber phones
  email_contacto text EmailAddress
  iban_cuenta text BankAccount
  forma_pago text -
  domicilio_fiscal text Address
  nombre_contacto text PersonName
  fecha_ultimo_email date -
medlemmer
  medlem_nr int4 -
  fornavn text PersonName
  efternavn text PersonName
  adresse text Address
  postnr text Address
  mobil text PhoneNumber
  cpr_nummer text NationalId
  foedselsdag date BirthDate
  e_mail text EmailAddress
  antal_breve int4 -
  kontingent numeric -
asiakkaat
  asiakas_id int4 -
  etunimi text PersonName
  sukunimi text PersonName
  osoite text Address
  puhelin text PhoneNumber
  sahkoposti text EmailAddress
  henkilotunnus text NationalId
  salasana text Secret
  kaupunki text -
zakaznici
  zakaznik_id int4 -
  jmeno text PersonName
  prijmeni text PersonName
  ulice text Address
  psc text Address
  telefon text PhoneNumber
  rodne_cislo text NationalId
  heslo text Secret
  mesto text -
accounts
  account_id uuid -
  account_name text -
  owner_email text EmailAddress
  billing_contact_name text PersonName
  email_queue_depth int4 -
  phonetic_key text -
  name_count int4 -
  pinned bool -
  telemetry jsonb - json
  two_factor_secret text Secret
  recovery_codes text[] Secret codes
  ip_allow_list text[] IpAddress ips
  addressable_market numeric -
  birthstone text -
  passport_required bool -
  sms_number text PhoneNumber
bookings
  booking_ref text -
  guest_name text PersonName
  guest_count int4 -
  passenger_dob date BirthDate
  passport_no text IdentityDocument
  frequent_flyer_no text -
  seat text -
  meal_notes text - prose
  contact_details jsonb PhoneNumber jsonPhones
  emergency_contact text PhoneNumber phones
  arrival_address text Address
  license_plate text IdentityDocument
  card_token text Secret
  price_total numeric -
hr_reviews
  review_id int4 -
  reviewer_name text PersonName
  rating int2 -
  comments text FreeText prosePerson
  base_pay numeric Pay
  pay_period text -
  home_zip text Address
  personal_email text EmailAddress
  marital_status text -
  religion text -
  visa_number text IdentityDocument
`
