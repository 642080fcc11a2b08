"""What psycopg2 does with the film rental; answers as one JSON object. It knows nothing of masks."""
import io
import json
import select
import sys
import threading
import time

import psycopg2
import psycopg2.extras

dsn = sys.argv[1]
answers = {}
psycopg2.extras.register_uuid()


def connect(**options):
    return psycopg2.connect(dsn, **options)


def types():
    with connect() as conn, conn.cursor(cursor_factory=psycopg2.extras.RealDictCursor) as cur:
        cur.execute('select * from public.customer where id = %s', (3,))
        row = cur.fetchone()
        cur.execute('select picture, ssn, salary from staff where id = %(id)s', {'id': 1})
        staff = cur.fetchone()
        return {
            'row': {name: str(value) for name, value in row.items() if name not in ('loyalty', 'created')},
            'kinds': {name: type(value).__name__ for name, value in row.items()},
            'staff': [bytes(staff['picture']).hex(), staff['ssn'], 1000 <= staff['salary'] <= 2000],
        }


def named_cursors():
    conn = connect()
    with conn.cursor('plain') as cur:
        cur.itersize = 100
        cur.execute('select id, card from public.payment order by id')
        cards = [card for _, card in cur]
    with conn.cursor('scrolling', scrollable=True, withhold=True) as cur:
        cur.execute('select id, email from customer where id <> %s order by id', (2,))
        first = cur.fetchmany(2)
        conn.commit()
        cur.scroll(40, mode='absolute')
        later = cur.fetchone()
        cur.scroll(-2)
        back = cur.fetchone()
    conn.close()
    return {'cards': len(cards), 'raw': [c for c in cards if c and not c.startswith('XXXX')], 'seen': [first, later, back]}


def many():
    with connect() as conn, conn.cursor() as cur:
        cur.executemany('insert into ledger (id, note) values (%s, %s)', [(n, 'é%d' % n) for n in range(1, 51)])
        psycopg2.extras.execute_batch(
            cur,
            'update public.ledger set note = (select email from public.customer where id = %s) where id = %s',
            [(n, n) for n in range(1, 51)],
            page_size=20,
        )
        values = psycopg2.extras.execute_values(
            cur, 'insert into ledger (id, note) values %s returning id', [(n, 'v') for n in range(100, 400)], fetch=True)
        cur.execute('select note, count(*) from ledger group by note order by 1')
        return {'returned': len(values), 'notes': cur.fetchall()}


def copy():
    with connect() as conn, conn.cursor() as cur:
        out = io.StringIO()
        cur.copy_to(out, 'customer', columns=('id', 'email', 'card'))
        query = io.StringIO()
        cur.copy_expert("copy (select c.id, a.phone from public.customer c join address a on a.id = c.address_id "
                        "order by 1 limit 3) to stdout with (format csv, header)", query)
        binary = io.BytesIO()
        cur.copy_expert('copy public.staff (id, email) to stdout (format binary)', binary)
        cur.copy_from(io.StringIO('500\tfive hundred\n501\t\\N\n'), 'ledger', columns=('id', 'note'))
        rows = cur.rowcount
        return {'lines': out.getvalue().splitlines()[:2], 'count': out.getvalue().count('\n'), 'csv': query.getvalue(),
                'binary': [binary.getvalue()[:6].decode(), binary.getvalue().count(b'sXXX@XXXX.com')], 'rows': rows}


def transactions():
    conn = connect()
    conn.set_session(isolation_level='SERIALIZABLE')
    with conn.cursor() as cur:
        cur.execute('savepoint a')
        denied = []
        for text in ('insert into public.customer (store_id, first_name, last_name, address_id) '
                     "values (1, 'a', 'b', 1) returning *", "delete from customer where email = 'x'"):
            try:
                cur.execute(text)
            except psycopg2.errors.InsufficientPrivilege as error:
                denied.append(error.pgcode)
                cur.execute('rollback to a')
        text = "select 'é', nothere from public.customer"
        try:
            cur.execute(text)
        except psycopg2.errors.UndefinedColumn as error:
            position = int(error.diag.statement_position) == text.index('nothere') + 1
    conn.rollback()
    conn.autocommit = True
    with conn.cursor() as cur:
        cur.execute('select email from public.customer where id = 1')
        email = cur.fetchone()[0]
    conn.close()
    return {'denied': denied, 'position': position, 'email': email}


def large_objects():
    conn = connect()
    large = conn.lobject(0, 'wb')
    oid = large.oid
    data = bytes(range(256)) * 4096
    large.write(data)
    large.seek(10)
    large.close()
    conn.commit()
    large = conn.lobject(oid, 'rb')
    whole = large.read() == data
    large.seek(-3, 2)
    end = large.read().hex()
    at = large.tell()
    large.close()
    large = conn.lobject(oid, 'w')
    large.truncate(5)
    large.close()
    large = conn.lobject(oid, 'rb')
    short = large.read().hex()
    large.unlink()
    conn.commit()
    try:
        conn.lobject(oid, 'rb')
        gone = False
    except psycopg2.OperationalError:
        gone = True
    conn.close()
    return {'whole': whole, 'end': end, 'at': at, 'short': short, 'gone': gone}


def notifications():
    listener, sender = connect(), connect()
    listener.autocommit = sender.autocommit = True
    listener.cursor().execute('listen returns')
    sender.cursor().execute("notify returns, 'film 7'")
    until = time.time() + 20
    while not listener.notifies and time.time() < until:
        select.select([listener], [], [], 1)
        listener.poll()
    heard = [(note.channel, note.payload) for note in listener.notifies]
    listener.close()
    sender.close()
    return heard


def cancel():
    conn = connect()
    timer = threading.Timer(0.5, conn.cancel)
    timer.start()
    try:
        conn.cursor().execute('select pg_sleep(30)')
        cancelled = False
    except psycopg2.errors.QueryCanceled:
        cancelled = True
    conn.rollback()
    with conn.cursor() as cur:
        cur.execute('select email from customer where id = 1')
        return {'cancelled': cancelled, 'email': cur.fetchone()[0]}


def asynchronous():
    conn = connect(async_=True)
    psycopg2.extras.wait_select(conn)
    cur = conn.cursor()
    cur.execute('select email from public.customer where id = 4')
    psycopg2.extras.wait_select(conn)
    return cur.fetchone()[0]


for step in (types, named_cursors, many, copy, transactions, large_objects, notifications, cancel, asynchronous):
    answers[step.__name__] = step()
print(json.dumps(answers, default=str))
