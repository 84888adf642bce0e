package parts.spring;

import io.github.resilience4j.circuitbreaker.CallNotPermittedException;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerRegistry;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/** Calls through a breaker to a system that fails when it is told to, and what a test needs to set the scene. */
@RestController
class Calls {
    private final CircuitBreakerRegistry breakers;
    private final Set<String> failing = ConcurrentHashMap.newKeySet();

    Calls(CircuitBreakerRegistry breakers) {
        this.breakers = breakers;
    }

    @GetMapping("/call/{name}")
    ResponseEntity<String> call(@PathVariable String name) {
        CircuitBreaker breaker = breakers.circuitBreaker(name);
        try {
            return ResponseEntity.ok(breaker.executeSupplier(() -> answer(name)));
        } catch (CallNotPermittedException refused) {
            return ResponseEntity.status(503).body("not permitted");
        } catch (IllegalStateException failed) {
            return ResponseEntity.status(502).body("failed");
        }
    }

    private String answer(String name) {
        if (failing.contains(name)) {
            throw new IllegalStateException("told to fail");
        }
        return "ok";
    }

    @PostMapping("/scene/{name}/failing")
    void failing(@PathVariable String name, @RequestParam boolean is) {
        if (is) {
            failing.add(name);
        } else {
            failing.remove(name);
        }
    }

    @PostMapping("/scene/{name}/state")
    ResponseEntity<String> state(@PathVariable String name, @RequestParam CircuitBreaker.State is) {
        CircuitBreaker breaker = breakers.find(name).orElse(null);
        if (breaker == null) {
            return ResponseEntity.notFound().build();
        }
        breaker.reset();
        switch (is) {
            case CLOSED -> { }
            case OPEN -> breaker.transitionToOpenState();
            case HALF_OPEN -> {
                breaker.transitionToOpenState();
                breaker.transitionToHalfOpenState();
            }
            case FORCED_OPEN -> breaker.transitionToForcedOpenState();
            case DISABLED -> breaker.transitionToDisabledState();
            case METRICS_ONLY -> breaker.transitionToMetricsOnlyState();
        }
        return ResponseEntity.ok(breaker.getState().name());
    }
}
