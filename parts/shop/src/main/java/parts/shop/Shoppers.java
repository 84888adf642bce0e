package parts.shop;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** The traffic: orders at a steady rate, whatever the answers, through each of the load balancers in turn. */
public class Shoppers {
    private static final int CAMPAIGNS = 3000;
    private static final int USERS_PER_SECOND = 36;
    private static final int MARKED_PER_SECOND = 24;

    private final HttpClient http = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(1)).build();
    private final AtomicInteger turn = new AtomicInteger();
    private final String[] fronts;

    private Shoppers(String[] fronts) {
        this.fronts = fronts;
    }

    /** The load balancers' addresses. */
    public static void main(String[] fronts) {
        Shoppers shoppers = new Shoppers(fronts);
        ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();
        clock.scheduleAtFixedRate(() -> shoppers.order(false), 0, 1_000_000 / USERS_PER_SECOND, TimeUnit.MICROSECONDS);
        clock.scheduleAtFixedRate(() -> shoppers.order(true), 0, 1_000_000 / MARKED_PER_SECOND, TimeUnit.MICROSECONDS);
    }

    private void order(boolean marked) {
        String front = fronts[turn.getAndIncrement() % fronts.length];
        int campaign = ThreadLocalRandom.current().nextInt(CAMPAIGNS);
        HttpRequest.Builder order = HttpRequest.newBuilder(URI.create("http://" + front + "/order?campaign=c" + campaign))
                .POST(HttpRequest.BodyPublishers.noBody()).timeout(Duration.ofSeconds(3));
        if (marked) {
            order.header("x-drill", "coupon-slow");
        }
        // Whether an order succeeds is for the metrics to tell.
        http.sendAsync(order.build(), BodyHandlers.discarding());
    }
}
