import io.debezium.engine.ChangeEvent;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.format.Json;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** Captures events with Debezium's engine: `Capture FILE EVENTS IDLE_SECONDS`; with 0 events it ends after the wait. */
class Capture {
    public static void main(String[] arguments) throws Exception {
        Properties options = new Properties();
        try (Reader file = Files.newBufferedReader(Path.of(arguments[0]))) {
            options.load(file);
        }
        long expected = Long.parseLong(arguments[1]);
        AtomicLong seen = new AtomicLong();
        CountDownLatch done = new CountDownLatch(1);
        DebeziumEngine<ChangeEvent<String, String>> engine = DebeziumEngine.create(Json.class)
            .using(options)
            .using((success, message, error) -> done.countDown())
            .notifying((List<ChangeEvent<String, String>> events,
                        DebeziumEngine.RecordCommitter<ChangeEvent<String, String>> committer) -> {
                for (ChangeEvent<String, String> event : events) {
                    committer.markProcessed(event);
                }
                committer.markBatchFinished();
                if (seen.addAndGet(events.size()) >= expected && expected > 0) {
                    done.countDown();
                }
            })
            .build();
        ExecutorService thread = Executors.newSingleThreadExecutor();
        thread.execute(engine);
        if (expected > 0) {
            done.await();
        } else {
            done.await(Long.parseLong(arguments[2]), TimeUnit.SECONDS);
        }
        engine.close();
        thread.shutdown();
        System.out.println(seen.get() + " events");
        if (seen.get() < expected) {
            System.exit(1);
        }
        System.exit(0);
    }
}
