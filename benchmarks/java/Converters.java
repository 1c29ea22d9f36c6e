import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.storage.Converter;

/**
 * CPU microseconds an event of converters, keys and values: `Converters EVENTS REGISTRY COUNT READINGS`. A line of the
 * file is a topic, a key and a value as JSON with schemas, with tabs between. Prints a line for JSON with schemas, JSON
 * and Avro.
 */
class Converters {
    record Event(String topic, SchemaAndValue key, SchemaAndValue value) {}

    static Object last;

    public static void main(String[] arguments) throws Exception {
        JsonConverter reader = new JsonConverter();
        reader.configure(Map.of("schemas.enable", "true", "schemas.cache.size", "10000"), false);
        List<Event> events = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            String[] parts = line.split("\t", 3);
            events.add(new Event(parts[0], read(reader, parts[0], parts[1]), read(reader, parts[0], parts[2])));
        }
        String json = "org.apache.kafka.connect.json.JsonConverter";
        String avro = "io.confluent.connect.avro.AvroConverter";
        int count = Integer.parseInt(arguments[2]);
        int readings = Integer.parseInt(arguments[3]);
        System.out.println(measure(json, Map.of("schemas.enable", "true"), events, count, readings));
        System.out.println(measure(json, Map.of("schemas.enable", "false"), events, count, readings));
        System.out.println(measure(avro, Map.of("schema.registry.url", arguments[1]), events, count, readings));
    }

    static SchemaAndValue read(JsonConverter reader, String topic, String text) {
        return reader.toConnectData(topic, text.isEmpty() ? null : text.getBytes(StandardCharsets.UTF_8));
    }

    static Converter made(String name, Map<String, String> options, boolean ofKeys) throws Exception {
        Converter converter = (Converter) Class.forName(name).getDeclaredConstructor().newInstance();
        converter.configure(options, ofKeys);
        return converter;
    }

    static double measure(String name, Map<String, String> options, List<Event> events, int count, int readings)
            throws Exception {
        Converter keys = made(name, options, true);
        Converter values = made(name, options, false);
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long best = Long.MAX_VALUE;
        for (int reading = 0; reading < 2 * readings; reading++) {
            long start = threads.getCurrentThreadCpuTime();
            for (int number = 0; number < count; number++) {
                Event event = events.get(number % events.size());
                last = keys.fromConnectData(event.topic, event.key.schema(), event.key.value());
                last = values.fromConnectData(event.topic, event.value.schema(), event.value.value());
            }
            best = Math.min(best, threads.getCurrentThreadCpuTime() - start);
        }
        return best / 1000.0 / count;
    }
}
