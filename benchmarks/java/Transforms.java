import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.Decimal;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.transforms.Transformation;

/**
 * CPU microseconds a record of chains of transforms: `Transforms CHAINS ROWS READINGS rows|changes`. A line is a chain:
 * a class and its options with tabs between, and a bar between two of them.
 */
class Transforms {
    static final Schema ROW = SchemaBuilder.struct().name("s.shop.t.Value")
        .field("id", Schema.INT32_SCHEMA)
        .field("name", Schema.OPTIONAL_STRING_SCHEMA)
        .field("email", Schema.OPTIONAL_STRING_SCHEMA)
        .field("price", Decimal.builder(2).optional().build())
        .field("big", Schema.OPTIONAL_INT64_SCHEMA)
        .field("d", Schema.FLOAT64_SCHEMA)
        .field("dt", Schema.INT64_SCHEMA)
        .field("ts", Schema.OPTIONAL_STRING_SCHEMA)
        .field("flag", Schema.BOOLEAN_SCHEMA)
        .field("e", SchemaBuilder.string().optional().defaultValue("a").build())
        .build();
    static final Schema KEY = SchemaBuilder.struct().name("s.shop.t.Key").field("id", Schema.INT32_SCHEMA).build();
    static Object last;

    public static void main(String[] arguments) throws Exception {
        int rows = Integer.parseInt(arguments[1]);
        List<SourceRecord> records = new ArrayList<>();
        for (int number = 0; number < rows; number++) {
            records.add(arguments[3].equals("changes") ? change(number) : record(number));
        }
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            System.out.println(measure(line.split("\t"), records, Integer.parseInt(arguments[2])));
        }
    }

    static double measure(String[] chain, List<SourceRecord> records, int readings) throws Exception {
        List<Transformation<SourceRecord>> transforms = new ArrayList<>();
        for (int at = 0; at < chain.length; at++) {
            String name = chain[at];
            Map<String, String> options = new HashMap<>();
            while (++at < chain.length && !chain[at].equals("|")) {
                String[] option = chain[at].split("=", 2);
                options.put(option[0], option[1]);
            }
            transforms.add(made(name, options));
        }
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long best = Long.MAX_VALUE;
        for (int reading = 0; reading < 2 * readings; reading++) {
            long start = threads.getCurrentThreadCpuTime();
            for (SourceRecord record : records) {
                SourceRecord made = record;
                for (Transformation<SourceRecord> transform : transforms) {
                    made = transform.apply(made);
                }
                last = made;
            }
            best = Math.min(best, threads.getCurrentThreadCpuTime() - start);
        }
        return best / 1000.0 / records.size();
    }

    @SuppressWarnings("unchecked")
    static Transformation<SourceRecord> made(String name, Map<String, String> options) throws Exception {
        Transformation<SourceRecord> transform =
            (Transformation<SourceRecord>) Class.forName(name).getDeclaredConstructor().newInstance();
        transform.configure(options);
        return transform;
    }

    static final Schema SOURCE = SchemaBuilder.struct().name("io.debezium.connector.mysql.Source")
        .field("version", Schema.STRING_SCHEMA).field("connector", Schema.STRING_SCHEMA)
        .field("name", Schema.STRING_SCHEMA).field("ts_ms", Schema.INT64_SCHEMA)
        .field("db", Schema.STRING_SCHEMA).field("table", Schema.OPTIONAL_STRING_SCHEMA)
        .field("file", Schema.STRING_SCHEMA).field("pos", Schema.INT64_SCHEMA).field("row", Schema.INT32_SCHEMA)
        .build();
    static final Schema OPTIONAL_ROW = optional(ROW);
    static final Schema ENVELOPE = SchemaBuilder.struct().name("s.shop.t.Envelope").version(2)
        .field("before", OPTIONAL_ROW).field("after", OPTIONAL_ROW).field("source", SOURCE)
        .field("op", Schema.STRING_SCHEMA).field("ts_ms", Schema.OPTIONAL_INT64_SCHEMA)
        .build();

    static Schema optional(Schema schema) {
        SchemaBuilder builder = SchemaBuilder.struct().name(schema.name()).optional();
        schema.fields().forEach(field -> builder.field(field.name(), field.schema()));
        return builder.build();
    }

    /** The row as a snapshot reads it. */
    static SourceRecord change(int number) {
        SourceRecord plain = record(number);
        Struct row = new Struct(OPTIONAL_ROW);
        ROW.fields().forEach(field -> row.put(field.name(), ((Struct) plain.value()).getWithoutDefault(field.name())));
        Struct source = new Struct(SOURCE)
            .put("version", "3.6.3").put("connector", "mysql").put("name", "s").put("ts_ms", plain.timestamp())
            .put("db", "shop").put("table", "t").put("file", "binlog.000001").put("pos", (long) number).put("row", 0);
        Struct envelope = new Struct(ENVELOPE)
            .put("after", row).put("source", source).put("op", "r").put("ts_ms", plain.timestamp());
        return plain.newRecord(
            plain.topic(), null, plain.keySchema(), plain.key(), ENVELOPE, envelope, plain.timestamp(), plain.headers());
    }

    static SourceRecord record(int number) {
        long moment = 1_700_000_000_000L + number * 17L;
        Struct row = new Struct(ROW)
            .put("id", number).put("name", "name " + number).put("email", number + "@example.com")
            .put("price", new BigDecimal("123.45")).put("big", (long) number << 20).put("d", number / 7.0)
            .put("dt", moment * 1000).put("ts", "2024-05-01T10:00:00Z").put("flag", number % 2 == 0);
        ConnectHeaders headers = new ConnectHeaders();
        headers.addString("connector", "mysql").addString("task", "0");
        Map<String, ?> none = Map.of();
        return new SourceRecord(
            none, none, "s.shop.t", null, KEY, new Struct(KEY).put("id", number), ROW, row, moment, headers);
    }
}
