import java.io.StringReader;
import java.io.StringWriter;
import java.sql.*;
import java.util.*;
import org.postgresql.PGConnection;
import org.postgresql.largeobject.LargeObject;
import org.postgresql.largeobject.LargeObjectManager;

/** What the JDBC driver does with the film rental; one line for each thing it found. It knows nothing of masks. */
public class Jdbc {
  static String url;
  static Properties account = new Properties();

  static Connection connect(String... options) throws SQLException {
    Properties all = new Properties();
    all.putAll(account);
    for (int at = 0; at < options.length; at += 2) all.setProperty(options[at], options[at + 1]);
    return DriverManager.getConnection(url, all);
  }

  static void say(String name, Object... values) {
    System.out.println(name + "\t" + String.join("\t", Arrays.stream(values).map(String::valueOf).toList()));
  }

  public static void main(String[] args) throws Exception {
    url = args[0];
    account.setProperty("user", args[1]);
    account.setProperty("password", args[2]);
    for (String mode : List.of("simple", "extended", "extendedForPrepared", "extendedCacheEverything")) reads(mode);
    prepared();
    portals();
    batches();
    generatedKeys();
    updatable();
    copies();
    largeObjects();
    metadata();
    notifications();
    cancelled();
    pipelines();
  }

  static void reads(String mode) throws SQLException {
    try (Connection c = connect("preferQueryMode", mode); Statement s = c.createStatement()) {
      ResultSet r = s.executeQuery("select c.email, c.born, c.external_id, c.tags, c.preferences from public.customer c where c.id = 3");
      r.next();
      say("read " + mode, r.getString(1), r.getDate(2), r.getObject(3), r.getArray(4), r.getObject(5));
      s.execute("select 1; select card from customer where id = 3; update ledger set note = 'x' where id < 0");
      s.getMoreResults();
      ResultSet second = s.getResultSet();
      second.next();
      say("several " + mode, second.getString(1), s.getMoreResults(), s.getUpdateCount());
    }
  }

  /** From the third time on the statement has a name, and from the fifth its results are binary. */
  static void prepared() throws SQLException {
    try (Connection c = connect("prepareThreshold", "3");
        PreparedStatement p = c.prepareStatement("select id, email, card, born, loyalty, external_id, tags, active, created from public.customer where id = ?")) {
      Set<String> seen = new TreeSet<>();
      for (int round = 0; round < 12; round++) {
        p.setInt(1, 5);
        ResultSet r = p.executeQuery();
        r.next();
        seen.add(r.getInt(1) + " " + r.getString(2) + " " + r.getString(3) + " " + r.getDate(4) + " " + r.getInt(5) + " " + r.getObject(6)
            + " " + r.getArray(7) + " " + r.getBoolean(8));
      }
      say("prepared", seen, p.unwrap(org.postgresql.PGStatement.class).isUseServerPrepare());
    }
    try (Connection c = connect("prepareThreshold", "-1", "binaryTransfer", "true");
        PreparedStatement p = c.prepareStatement("select amount, card, paid from public.payment where customer_id = ? and paid >= ? order by id")) {
      p.setInt(1, 12);
      p.setTimestamp(2, Timestamp.valueOf("2025-01-01 00:00:00"));
      ResultSet r = p.executeQuery();
      r.next();
      say("binary", r.getBigDecimal(1), r.getString(2), r.getTimestamp(3));
    }
  }

  static void portals() throws SQLException {
    try (Connection c = connect()) {
      c.setAutoCommit(false);
      Statement s = c.createStatement();
      s.setFetchSize(50);
      ResultSet r = s.executeQuery("select p.id, p.card, c.email from payment p join public.customer c on c.id = p.customer_id order by p.id");
      int rows = 0;
      int raw = 0;
      while (r.next()) {
        rows++;
        if (r.getString(2) != null && !r.getString(2).startsWith("XXXX-")) raw++;
      }
      say("portal", rows, raw);
      Statement scroll = c.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_READ_ONLY);
      ResultSet all = scroll.executeQuery("select id, email from customer order by id");
      all.last();
      int last = all.getInt(1);
      all.absolute(7);
      say("scroll", last, all.getInt(1), all.getString(2));
      CallableStatement call = c.prepareCall("{? = call customer_balance(?, ?)}");
      call.registerOutParameter(1, Types.NUMERIC);
      call.setInt(2, 3);
      call.setTimestamp(3, Timestamp.valueOf("2024-01-01 00:00:00"));
      call.execute();
      say("call", call.getBigDecimal(1));
      c.rollback();
    }
  }

  static void batches() throws SQLException {
    for (String rewrite : List.of("false", "true"))
      try (Connection c = connect("reWriteBatchedInserts", rewrite);
          PreparedStatement p = c.prepareStatement("insert into public.ledger (id, note) values (?, ?)");
          PreparedStatement u = c.prepareStatement("update ledger set note = c.email from public.customer c where c.id = ? and ledger.id = ?");
          Statement s = c.createStatement()) {
        c.setAutoCommit(false);
        for (int id = 1; id <= 300; id++) {
          p.setInt(1, id);
          p.setString(2, "naïve " + id);
          p.addBatch();
        }
        int inserted = p.executeBatch().length;
        for (int id = 1; id <= 300; id++) {
          u.setInt(1, id);
          u.setInt(2, id);
          u.addBatch();
        }
        int updated = Arrays.stream(u.executeBatch()).sum();
        s.addBatch("delete from ledger where id = 1");
        s.addBatch("delete from ledger where note is null");
        int[] deleted = s.executeBatch();
        ResultSet r = s.executeQuery("select count(*), min(note), max(note) from ledger");
        r.next();
        say("batch " + rewrite, inserted, updated, Arrays.toString(deleted), r.getInt(1), r.getString(2), r.getString(3));
        c.rollback();
      }
  }

  static void generatedKeys() throws SQLException {
    try (Connection c = connect()) {
      c.setAutoCommit(false);
      String insert = "insert into public.customer (store_id, first_name, last_name, email, address_id) values (1, 'a', 'b', 'own@mail.example', 1)";
      PreparedStatement p = c.prepareStatement(insert, new String[] {"id"});
      p.executeUpdate();
      ResultSet keys = p.getGeneratedKeys();
      keys.next();
      say("key", keys.getInt(1));
      PreparedStatement whole = c.prepareStatement("insert into ledger (id, note) values (77, 'x')", Statement.RETURN_GENERATED_KEYS);
      whole.executeUpdate();
      ResultSet all = whole.getGeneratedKeys();
      all.next();
      say("keys", all.getInt("id"), all.getString("note"));
      try {
        c.prepareStatement(insert.replace("own", "other"), Statement.RETURN_GENERATED_KEYS).executeUpdate();
        say("every column", "returned");
      } catch (SQLException error) {
        say("every column", error.getSQLState());
      }
      c.rollback();
    }
  }

  static void updatable() throws SQLException {
    try (Connection c = connect()) {
      c.setAutoCommit(false);
      c.createStatement().execute("insert into ledger (id, note) values (1, 'a'), (2, 'b')");
      Statement s = c.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE);
      ResultSet r = s.executeQuery("select id, note from public.ledger order by id");
      r.next();
      r.updateString(2, "changed");
      r.updateRow();
      r.next();
      r.deleteRow();
      ResultSet left = c.createStatement().executeQuery("select string_agg(note, ',') from ledger");
      left.next();
      say("updatable", left.getString(1));
      c.rollback();
    }
  }

  static void copies() throws Exception {
    try (Connection c = connect()) {
      c.setAutoCommit(false);
      var manager = c.unwrap(PGConnection.class).getCopyAPI();
      StringWriter out = new StringWriter();
      long rows = manager.copyOut("copy public.customer (id, email, card) to stdout", out);
      say("copy out", rows, out.toString().lines().findFirst().orElse(""));
      say("copy in", manager.copyIn("copy ledger (id, note) from stdin csv", new StringReader("1,one\n2,\"two\nlines\"\n")));
      c.rollback();
    }
  }

  static void largeObjects() throws SQLException {
    try (Connection c = connect()) {
      c.setAutoCommit(false);
      LargeObjectManager manager = c.unwrap(PGConnection.class).getLargeObjectAPI();
      long oid = manager.createLO(LargeObjectManager.READWRITE);
      byte[] data = new byte[300_000];
      for (int at = 0; at < data.length; at++) data[at] = (byte) (at * 7);
      LargeObject large = manager.open(oid, LargeObjectManager.WRITE);
      large.write(data);
      large.close();
      c.commit();
      large = manager.open(oid, LargeObjectManager.READ);
      boolean same = Arrays.equals(data, large.read(data.length));
      large.seek64(299_998, LargeObject.SEEK_SET);
      int left = large.read(10).length;
      say("large object", large.size64(), same, left, large.tell64());
      large.close();
      manager.delete(oid);
      c.commit();
      try {
        manager.open(oid, LargeObjectManager.READ);
      } catch (SQLException error) {
        say("large object gone", error.getSQLState());
      }
    }
  }

  static void metadata() throws SQLException {
    try (Connection c = connect()) {
      DatabaseMetaData data = c.getMetaData();
      say("tables", names(data.getTables(null, "public", "%", new String[] {"TABLE", "PARTITIONED TABLE"}), "TABLE_NAME"));
      say("views", names(data.getTables(null, "public", "%", new String[] {"VIEW", "MATERIALIZED VIEW"}), "TABLE_NAME"));
      say("columns", names(data.getColumns(null, "public", "customer", "%"), "COLUMN_NAME"));
      say("types", names(data.getColumns(null, "public", "customer", "%"), "TYPE_NAME"));
      say("key", names(data.getPrimaryKeys(null, "public", "customer"), "COLUMN_NAME"));
      say("imported", names(data.getImportedKeys(null, "public", "customer"), "PKTABLE_NAME"));
      say("exported", names(data.getExportedKeys(null, "public", "customer"), "FKTABLE_NAME"));
      say("indexes", names(data.getIndexInfo(null, "public", "customer", false, false), "INDEX_NAME"));
      say("routines", names(data.getFunctions(null, "public", "%"), "FUNCTION_NAME"));
      say("catalog", data.getDatabaseProductName(), c.getCatalog().isEmpty(), names(data.getSchemas(), "TABLE_SCHEM").contains("public"));
      ResultSetMetaData row = c.createStatement().executeQuery("select email, card, born from public.customer limit 1").getMetaData();
      say("row", row.getColumnTypeName(1), row.getPrecision(1), row.getColumnTypeName(3), row.getColumnCount());
      ParameterMetaData parameters = c.prepareStatement("select 1 from public.customer where id = ? and email = ?").getParameterMetaData();
      say("parameters", parameters.getParameterTypeName(1), parameters.getParameterTypeName(2));
    }
  }

  static String names(ResultSet rows, String column) throws SQLException {
    List<String> all = new ArrayList<>();
    while (rows.next()) all.add(rows.getString(column));
    return String.join(",", all);
  }

  static void notifications() throws SQLException {
    try (Connection listener = connect(); Connection sender = connect()) {
      listener.createStatement().execute("listen returns");
      sender.createStatement().execute("notify returns, 'film 9'");
      var heard = listener.unwrap(PGConnection.class).getNotifications(20_000);
      say("notification", heard.length, heard[0].getParameter());
    }
  }

  static void cancelled() throws Exception {
    try (Connection c = connect(); Statement s = c.createStatement()) {
      s.setQueryTimeout(1);
      try {
        s.execute("select pg_sleep(30)");
      } catch (SQLException error) {
        say("cancelled", error.getSQLState());
      }
      s.setQueryTimeout(0);
      ResultSet r = s.executeQuery("select email from customer where id = 1");
      r.next();
      say("after", r.getString(1));
    }
  }

  /** A savepoint before each statement, and one statement after another without waiting, errors among them. */
  static void pipelines() throws SQLException {
    try (Connection c = connect("autosave", "always")) {
      c.setAutoCommit(false);
      for (String text : List.of("select nothere from public.customer", "delete from customer where card = 'x'"))
        try {
          c.createStatement().execute(text);
        } catch (SQLException error) {
          say("autosave", error.getSQLState());
        }
      ResultSet r = c.createStatement().executeQuery("select email from public.customer where id = 1");
      r.next();
      say("still", r.getString(1));
      c.rollback();
    }
  }
}
