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

/** CPU microseconds a record of transforms: `Transforms CHAINS ROWS READINGS`; a class and its options with tabs between a line. */
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
            records.add(record(number));
        }
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            System.out.println(measure(line.split("\t"), records, Integer.parseInt(arguments[2])));
        }
    }

    @SuppressWarnings("unchecked")
    static double measure(String[] chain, List<SourceRecord> records, int readings) throws Exception {
        Map<String, String> options = new HashMap<>();
        for (int at = 1; at < chain.length; at++) {
            String[] option = chain[at].split("=", 2);
            options.put(option[0], option[1]);
        }
        Transformation<SourceRecord> transform =
            (Transformation<SourceRecord>) Class.forName(chain[0]).getDeclaredConstructor().newInstance();
        transform.configure(options);
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long best = Long.MAX_VALUE;
        for (int reading = 0; reading < 2 * readings; reading++) {
            long start = threads.getCurrentThreadCpuTime();
            for (SourceRecord record : records) {
                last = transform.apply(record);
            }
            best = Math.min(best, threads.getCurrentThreadCpuTime() - start);
        }
        return best / 1000.0 / records.size();
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
