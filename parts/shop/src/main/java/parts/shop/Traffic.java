package parts.shop;

import io.micrometer.common.KeyValues;
import java.time.Duration;
import java.util.function.UnaryOperator;
import org.springframework.http.server.observation.DefaultServerRequestObservationConvention;
import org.springframework.http.server.observation.ServerRequestObservationContext;
import org.springframework.stereotype.Component;

/** Whose call it is: a user's, or one that the drill has marked. A label of every metric that a drill looks at. */
enum Traffic {
    USERS("users"), DRILL("drill");

    static final Duration[] BUCKETS = {
        Duration.ofMillis(25), Duration.ofMillis(50), Duration.ofMillis(100), Duration.ofMillis(200),
        Duration.ofMillis(400), Duration.ofMillis(800), Duration.ofMillis(1500), Duration.ofMillis(3000)
    };
    private static final String MARK = "x-drill";
    final String label;

    Traffic(String label) {
        this.label = label;
    }

    static Traffic of(UnaryOperator<String> header) {
        return header.apply(MARK) == null ? USERS : DRILL;
    }

    /** The same label on {@code http_server_requests_seconds}. */
    @Component
    static class OnRequests extends DefaultServerRequestObservationConvention {
        @Override
        public KeyValues getLowCardinalityKeyValues(ServerRequestObservationContext request) {
            Traffic traffic = of(request.getCarrier()::getHeader);
            return super.getLowCardinalityKeyValues(request).and("traffic", traffic.label);
        }
    }
}
