package parts.spring;

import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerRegistry;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;

/**
 * Half-opens a breaker that is open: 204. One in any other state is left alone: 409. A name that the registry does not
 * have creates nothing: 404.
 */
@RestController
class HalfOpen {
    private final CircuitBreakerRegistry breakers;

    HalfOpen(CircuitBreakerRegistry breakers) {
        this.breakers = breakers;
    }

    @PostMapping("/app/breakers/{name}/half-open")
    ResponseEntity<String> halfOpen(@PathVariable String name) {
        return breakers.find(name).map(HalfOpen::halfOpen).orElseGet(() -> ResponseEntity.notFound().build());
    }

    private static ResponseEntity<String> halfOpen(CircuitBreaker breaker) {
        CircuitBreaker.State state = breaker.getState();
        if (state != CircuitBreaker.State.OPEN) {
            return ResponseEntity.status(409).body(state.name());
        }
        breaker.transitionToHalfOpenState();
        return ResponseEntity.noContent().build();
    }
}
