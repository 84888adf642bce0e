package parts.rocketmq;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.rocketmq.acl.common.AclClientRPCHook;
import org.apache.rocketmq.acl.common.SessionCredentials;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyContext;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.remoting.RPCHook;

/**
 * Produces and consumes, for tests.
 *
 * <pre>
 * mqtool produce NAMESRV TOPIC COUNT
 * mqtool consume NAMESRV TOPIC GROUP [sick=FILE] [threads=N] [each=MILLIS] [ahead=MESSAGES] [batch=MESSAGES]
 * </pre>
 *
 * The consumer sends a message back, to be tried again after a second, while the file `sick` is there. Each second it prints how
 * many messages it has worked off. MQ_ACCESS_KEY and MQ_SECRET_KEY are its login.
 */
public final class Tool {
    private Tool() {}

    public static void main(String[] args) throws Exception {
        switch (args[0]) {
            case "produce" -> produce(args[1], args[2], Integer.parseInt(args[3]));
            case "consume" -> consume(args);
            default -> throw new IllegalArgumentException(args[0]);
        }
    }

    private static RPCHook login() {
        String key = System.getenv("MQ_ACCESS_KEY");
        return key == null ? null : new AclClientRPCHook(new SessionCredentials(key, System.getenv("MQ_SECRET_KEY")));
    }

    private static void produce(String nameServer, String topic, int count) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("mqtool-producer", login());
        producer.setNamesrvAddr(nameServer);
        producer.setSendMsgTimeout(10_000);
        producer.start();
        byte[] body = "x".repeat(100).getBytes(StandardCharsets.UTF_8);
        // One by one where it must be: a retry topic takes no batches.
        int together = topic.startsWith("%RETRY%") ? 1 : 50;
        ExecutorService senders = Executors.newFixedThreadPool(16);
        List<Future<?>> sent = new ArrayList<>();
        for (int i = 0; i < count; i += together) {
            List<Message> batch = Collections.nCopies(Math.min(together, count - i), body).stream()
                .map(text -> new Message(topic, text))
                .toList();
            sent.add(senders.submit(() -> send(producer, batch)));
        }
        for (Future<?> one : sent) {
            one.get();
        }
        senders.shutdown();
        producer.shutdown();
    }

    /** A busy broker refuses: it is asked again. */
    private static void send(DefaultMQProducer producer, List<Message> batch) {
        for (int tries = 0; ; tries++) {
            try {
                if (batch.size() == 1) {
                    producer.send(batch.get(0));
                } else {
                    producer.send(batch);
                }
                return;
            } catch (Exception busy) {
                if (tries == 30) {
                    busy.printStackTrace();
                    System.exit(1);
                }
                sleep(200);
            }
        }
    }

    private static String setting(String[] args, String name, String otherwise) {
        for (String arg : args) {
            if (arg.startsWith(name + "=")) {
                return arg.substring(name.length() + 1);
            }
        }
        return otherwise;
    }

    private static void consume(String[] args) throws Exception {
        AtomicLong done = new AtomicLong();
        for (int tries = 0; ; tries++) {
            try {
                consumer(args, done).start();
                break;
            } catch (IllegalStateException unreachable) {
                if (tries == 30) {
                    throw unreachable;
                }
                sleep(1000);
            }
        }
        System.out.println("started");
        while (true) {
            sleep(1000);
            System.out.println(System.currentTimeMillis() + " " + done.get());
        }
    }

    private static DefaultMQPushConsumer consumer(String[] args, AtomicLong done) throws Exception {
        DefaultMQPushConsumer consumer =
            new DefaultMQPushConsumer(args[3], login(), new AllocateMessageQueueAveragely());
        consumer.setNamesrvAddr(args[1]);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        int threads = Integer.parseInt(setting(args, "threads", "4"));
        consumer.setConsumeThreadMin(threads);
        consumer.setConsumeThreadMax(threads);
        consumer.setPullThresholdForQueue(Integer.parseInt(setting(args, "ahead", "1000")));
        consumer.setPullBatchSize(Integer.parseInt(setting(args, "batch", "32")));
        long each = Long.parseLong(setting(args, "each", "0"));
        String sick = setting(args, "sick", null);
        consumer.subscribe(args[2], "*");
        consumer.registerMessageListener((List<MessageExt> messages, ConsumeConcurrentlyContext context) -> {
            sleep(each);
            if (sick != null && Files.exists(Path.of(sick))) {
                context.setDelayLevelWhenNextConsume(1);
                return ConsumeConcurrentlyStatus.RECONSUME_LATER;
            }
            done.addAndGet(messages.size());
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        return consumer;
    }

    private static void sleep(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
