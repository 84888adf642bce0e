package parts.shop;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import jakarta.annotation.PostConstruct;
import jakarta.annotation.PreDestroy;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.stereotype.Component;

/**
 * Coupons that are owed wait in Kafka. The same service makes them good, while its own breaker says that the coupon
 * service is well, and as fast as its {@link RetrySwitch} lets it.
 */
@Component
class Retries {
    private static final String TOPIC = "order-retry";
    /** It polls that often, also while it is held: a consumer that does not is taken for dead. */
    private static final Duration POLL = Duration.ofMillis(200);
    private static final Duration COMMITS = Duration.ofSeconds(1);
    /** What else an order's message holds: lines, addresses. */
    private static final String REST = "-".repeat(900);

    private final Coupons coupons;
    private final RetrySwitch turns;
    private final KafkaProducer<String, String> producer;
    private final KafkaConsumer<String, String> consumer;
    private final Counter sent;
    private final Counter done;
    private final Thread worker = new Thread(this::work, "order-retry");
    private volatile boolean ends;

    /** Fetched and not yet made good; and how far each partition is made good, where that is not committed yet. */
    private final Queue<ConsumerRecord<String, String>> fetched = new ArrayDeque<>();
    private final Map<TopicPartition, OffsetAndMetadata> made = new HashMap<>();
    private long commits = System.nanoTime();

    Retries(Coupons coupons, RetrySwitch turns, MeterRegistry meters, @Value("${shop.kafka}") String kafka) {
        this.coupons = coupons;
        this.turns = turns;
        sent = meters.counter("retries.sent");
        done = meters.counter("retries.done");
        producer = new KafkaProducer<>(Map.of("bootstrap.servers", kafka, "max.block.ms", 1000),
                new StringSerializer(), new StringSerializer());
        // One client id for all instances: a quota on it is the service's. One second's worth a fetch keeps a quota even.
        consumer = new KafkaConsumer<>(Map.of("bootstrap.servers", kafka, "group.id", TOPIC, "client.id", TOPIC,
                "auto.offset.reset", "earliest", "enable.auto.commit", false,
                "max.partition.fetch.bytes", 16_384, "fetch.max.bytes", 32_768),
                new StringDeserializer(), new StringDeserializer());
    }

    void owe(String order, String campaign) {
        producer.send(new ProducerRecord<>(TOPIC, order, campaign + " " + REST));
        sent.increment();
    }

    @PostConstruct
    void begin() {
        worker.start();
    }

    private void work() {
        consumer.subscribe(List.of(TOPIC), new Leaves());
        try {
            while (!ends) {
                boolean isWell = coupons.isWell();
                if (isWell && fetched.isEmpty()) {
                    consumer.resume(consumer.paused());
                } else {
                    consumer.pause(consumer.assignment());
                }
                // What was fetched goes on at once; with nothing to do there is time.
                consumer.poll(isWell && !fetched.isEmpty() ? Duration.ZERO : POLL).forEach(fetched::add);
                if (isWell) {
                    makeGood();
                }
                account();
            }
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
        } finally {
            Thread.interrupted();
            commit();
            consumer.close();
        }
    }

    /** For as long as a poll may wait. */
    private void makeGood() throws InterruptedException {
        long end = System.nanoTime() + POLL.toNanos();
        while (!fetched.isEmpty() && !ends) {
            Duration left = Duration.ofNanos(end - System.nanoTime());
            if (left.isNegative() || !turns.next(left)) {
                return;
            }
            ConsumerRecord<String, String> owed = fetched.remove();
            coupons.redeem(owed.value().substring(0, owed.value().indexOf(' ')));
            made.put(new TopicPartition(owed.topic(), owed.partition()), new OffsetAndMetadata(owed.offset() + 1));
            done.increment();
        }
    }

    /** Commits, and says what waits, now and then. */
    private void account() {
        if (System.nanoTime() - commits < COMMITS.toNanos()) {
            return;
        }
        commits = System.nanoTime();
        commit();
        try {
            Map<TopicPartition, Long> ends = consumer.endOffsets(consumer.assignment());
            long ahead = ends.entrySet().stream().mapToLong(e -> e.getValue() - consumer.position(e.getKey())).sum();
            turns.waiting(ahead + fetched.size());
        } catch (KafkaException unknown) {
            // Told again in a second.
        }
    }

    private void commit() {
        if (made.isEmpty()) {
            return;
        }
        try {
            consumer.commitSync(made);
            made.clear();
        } catch (KafkaException later) {
            // They are made good once more at worst: a customer has each coupon once.
        }
    }

    /** Partitions that others take over begin where this one has ended. */
    private class Leaves implements ConsumerRebalanceListener {
        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            commit();
            fetched.removeIf(owed -> partitions.contains(new TopicPartition(owed.topic(), owed.partition())));
            made.keySet().removeAll(partitions);
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            // They begin where their group is.
        }
    }

    @PreDestroy
    void end() throws InterruptedException {
        ends = true;
        worker.join(5000);
        producer.close(Duration.ofSeconds(2));
    }
}
