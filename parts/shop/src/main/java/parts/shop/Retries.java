package parts.shop;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import jakarta.annotation.PostConstruct;
import jakarta.annotation.PreDestroy;
import java.time.Duration;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.stereotype.Component;

/**
 * Coupons that are owed wait in Kafka. The same service makes them good, while its own breaker says that the coupon
 * service is well.
 */
@Component
class Retries {
    private static final String TOPIC = "order-retry";
    private static final Duration POLL = Duration.ofMillis(200);
    /** What else an order's message holds: lines, addresses. */
    private static final String REST = "-".repeat(900);

    private final Coupons coupons;
    private final KafkaProducer<String, String> producer;
    private final KafkaConsumer<String, String> consumer;
    private final Counter sent;
    private final Counter done;
    private final Thread worker = new Thread(this::work, "order-retry");
    private volatile boolean ends;

    Retries(Coupons coupons, MeterRegistry meters, @Value("${shop.kafka}") String kafka) {
        this.coupons = coupons;
        sent = meters.counter("retries.sent");
        done = meters.counter("retries.done");
        producer = new KafkaProducer<>(Map.of("bootstrap.servers", kafka, "max.block.ms", 1000),
                new StringSerializer(), new StringSerializer());
        // One client id for all instances: a quota on it is the service's. One second's worth a fetch keeps a quota even.
        consumer = new KafkaConsumer<>(Map.of("bootstrap.servers", kafka, "group.id", TOPIC, "client.id", TOPIC,
                "auto.offset.reset", "earliest", "auto.commit.interval.ms", 1000,
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
        consumer.subscribe(java.util.List.of(TOPIC));
        try {
            while (!ends) {
                if (coupons.isWell()) {
                    consumer.resume(consumer.paused());
                } else {
                    consumer.pause(consumer.assignment());
                }
                for (ConsumerRecord<String, String> owed : consumer.poll(POLL)) {
                    coupons.redeem(owed.value().substring(0, owed.value().indexOf(' ')));
                    done.increment();
                }
            }
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
        } finally {
            Thread.interrupted();
            consumer.close();
        }
    }

    @PreDestroy
    void end() throws InterruptedException {
        ends = true;
        worker.join(5000);
        producer.close(Duration.ofSeconds(2));
    }
}
