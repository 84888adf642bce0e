package parts.shop;

import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerRegistry;
import io.github.resilience4j.timelimiter.TimeLimiter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import jakarta.annotation.PreDestroy;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.springframework.stereotype.Component;

/** Calls the coupon service: through a breaker, on a few threads, for one second at the longest. */
@Component
class Coupons {
    private static final Duration TIMEOUT = Duration.ofSeconds(1);
    /** What the coupon service takes when it is well. */
    private static final long ANSWERS_MS = 15;
    /** What a retry takes: it looks whether the customer has the coupon already. */
    private static final long RETRY_MS = 20;
    private static final int CALLS_AT_ONCE = 32;

    private final InjectionPoint point;
    private final CircuitBreaker breaker;
    private final TimeLimiter limit = TimeLimiter.of(TIMEOUT);
    private final ExecutorService calls = new ThreadPoolExecutor(0, CALLS_AT_ONCE, 30, TimeUnit.SECONDS, new SynchronousQueue<>());
    private final Map<Traffic, Timer> timers = new EnumMap<>(Traffic.class);

    Coupons(InjectionPoint point, CircuitBreakerRegistry breakers, MeterRegistry meters) {
        this.point = point;
        this.breaker = breakers.circuitBreaker("coupon");
        for (Traffic traffic : Traffic.values()) {
            timers.put(traffic, Timer.builder("coupon.query").tag("traffic", traffic.label)
                    .serviceLevelObjectives(Traffic.BUCKETS).register(meters));
        }
    }

    /** Fails if the coupon service fails, if it takes too long, or if the breaker lets no call through. */
    String query(String campaign, Traffic traffic, UnaryOperator<String> header) throws Exception {
        return breaker.executeCallable(() -> timers.get(traffic).recordCallable(() ->
                limit.executeFutureSupplier(() -> calls.submit(() ->
                        point.pass("coupon.query", header, () -> ask(campaign))))));
    }

    /** A retry's way: no user waits for it, and no breaker is moved by it. */
    void redeem(String campaign) throws InterruptedException {
        Thread.sleep(RETRY_MS - ANSWERS_MS);
        ask(campaign);
    }

    boolean isWell() {
        return breaker.getState() == CircuitBreaker.State.CLOSED;
    }

    private static String ask(String campaign) throws InterruptedException {
        Thread.sleep(ANSWERS_MS);
        return "5% off " + campaign;
    }

    @PreDestroy
    void end() {
        calls.shutdownNow();
    }
}
