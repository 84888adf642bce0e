package parts.shop;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import jakarta.servlet.http.HttpServletRequest;
import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.UnaryOperator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/**
 * Takes an order. Without its coupon the order goes through all the same: its campaign is degraded for ten minutes, and
 * what is owed to the customer goes to the retry queue.
 */
@RestController
class Orders {
    record Taken(String order, String coupon) { }

    private static final Logger LOG = LoggerFactory.getLogger(Orders.class);
    private final Coupons coupons;
    private final DegradeFlags flags;
    private final Retries retries;
    private final Map<Traffic, Counter> degraded = new EnumMap<>(Traffic.class);

    Orders(Coupons coupons, DegradeFlags flags, Retries retries, MeterRegistry meters) {
        this.coupons = coupons;
        this.flags = flags;
        this.retries = retries;
        // From the start, at 0: a metric that is not there yet has no baseline.
        for (Traffic traffic : Traffic.values()) {
            degraded.put(traffic, Counter.builder("orders.degraded").tag("traffic", traffic.label).register(meters));
        }
    }

    @PostMapping("/order")
    Taken order(@RequestParam String campaign, HttpServletRequest request) {
        String order = UUID.randomUUID().toString();
        return new Taken(order, coupon(order, campaign, headers(request)));
    }

    /** A copy: the coupon is asked for on another thread, and a request is its own thread's. */
    private static UnaryOperator<String> headers(HttpServletRequest request) {
        Map<String, String> headers = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        Collections.list(request.getHeaderNames()).forEach(name -> headers.put(name, request.getHeader(name)));
        return headers::get;
    }

    private String coupon(String order, String campaign, UnaryOperator<String> header) {
        Traffic traffic = Traffic.of(header);
        if (!flags.stands(campaign)) {
            try {
                return coupons.query(campaign, traffic, header);
            } catch (Exception failed) {
                LOG.debug("no coupon of {}: {}", campaign, failed.toString());
                flags.set(campaign);
            }
        }
        degraded.get(traffic).increment();
        retries.owe(order, campaign);
        return "none";
    }
}
