package parts.shop;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.lang.reflect.Constructor;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.ResponseEntity;
import org.springframework.stereotype.Component;
import org.springframework.web.bind.annotation.DeleteMapping;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PutMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.client.RestClientResponseException;
import org.springframework.web.server.ResponseStatusException;

/**
 * Fault rules that this instance enforces by itself, and the API that they come and go by. A call that may be made to fail
 * goes through {@link #pass}: without a rule that costs one volatile read. Every rule ends at its ttl, whoever dies.
 */
@Component
public class InjectionPoint {
    private static final int MOST_RULES = 256;
    private static final int LARGEST_RULE = 64 * 1024;
    private static final String NAME = "[A-Za-z0-9._:-]{1,128}";
    private static final ObjectMapper JSON = new ObjectMapper()
            .setPropertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
            .setSerializationInclusion(JsonInclude.Include.NON_NULL)
            .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES, DeserializationFeature.FAIL_ON_READING_DUP_TREE_KEY);

    private final String service;
    private final String instance;
    private final List<String> points;
    private volatile List<Live> rules = List.of();

    public InjectionPoint(@Value("${spring.application.name}") String service, @Value("${chaos.instance}") String instance,
            @Value("${chaos.points}") List<String> points) {
        this.service = service;
        this.instance = instance;
        this.points = points;
    }

    /**
     * The call, unless a rule takes it. {@code header} gives a header of the request that the call belongs to, or null:
     * {@code request::getHeader} on the request's own thread, a copy of the headers on any other.
     */
    public <T> T pass(String point, UnaryOperator<String> header, Callable<T> call) throws Exception {
        for (Live rule : rules) {
            if (rule.is.point.equals(point) && rule.takes(header)) {
                return rule.act(call);
            }
        }
        return call.call();
    }

    /** A rule as it is put. Without an instance it is meant for the one that holds it. */
    record Rule(String id, String run, String point, JsonNode fault, Map<String, String> header, String instance,
            Double percent, Integer maxConcurrent, Long windowMs, long ttlMs) {
        Rule {
            check(id != null && id.matches(NAME) && run != null && run.matches(NAME) && point != null && point.matches(NAME),
                    "id, run and point are 1 to 128 letters, digits, `.`, `_`, `:` or `-`");
            check(percent == null || percent > 0 && percent <= 100, "percent is outside (0, 100]");
            check(maxConcurrent == null || maxConcurrent > 0, "max_concurrent must be above 0");
            check(windowMs == null || windowMs > 0, "window_ms must be above 0");
            check(ttlMs > 0 && ttlMs <= 86_400_000, "ttl_ms is outside 1 to 86400000 (24 hours): every rule must end by itself");
            Map<String, String> lower = new TreeMap<>();
            (header == null ? Map.<String, String>of() : header).forEach((k, v) -> lower.put(k.toLowerCase(Locale.ROOT), v));
            header = lower;
        }
    }

    /** What becomes of a call that is hit: it returns, and the call is made, or it throws, or there is no answer. */
    private interface Effect {
        /** False: the call is answered with nothing. */
        boolean on(Live rule) throws Exception;
    }

    private static void check(boolean holds, String otherwise) {
        if (!holds) {
            throw new ResponseStatusException(HttpStatus.UNPROCESSABLE_ENTITY, otherwise);
        }
    }

    private static Effect effect(JsonNode fault) {
        check(fault != null && (fault.isTextual() || fault.size() == 1), "fault is one effect");
        String kind = fault.isTextual() ? fault.textValue() : fault.fieldNames().next();
        JsonNode with = fault.path(kind);
        switch (kind) {
            case "delay":
                long mean = with.path("mean_ms").asLong();
                long jitter = with.path("jitter_ms").asLong();
                check(mean > 0 && mean <= 3_600_000, "delay mean_ms is outside 1 to 3600000 (one hour)");
                check(jitter >= 0 && jitter <= mean, "delay jitter_ms must not be above mean_ms");
                return rule -> rule.waits(mean + ThreadLocalRandom.current().nextLong(-jitter, jitter + 1));
            case "exception":
                Constructor<?> made = constructor(with.path("class").asText());
                return rule -> {
                    throw (Exception) (made.getParameterCount() == 0 ? made.newInstance() : made.newInstance("injected"));
                };
            case "status":
                int code = with.path("code").asInt();
                byte[] body = with.path("body").asText().getBytes(StandardCharsets.UTF_8);
                check(code >= 400 && code <= 599, "status code must be between 400 and 599 here");
                return rule -> {
                    throw new RestClientResponseException("injected " + code, HttpStatusCode.valueOf(code), "injected",
                            HttpHeaders.EMPTY, body, StandardCharsets.UTF_8);
                };
            case "empty":
                return rule -> false;
            default:
                throw new ResponseStatusException(HttpStatus.UNPROCESSABLE_ENTITY,
                        "this service can delay, exception, status and empty, not `" + kind + "`");
        }
    }

    private static Constructor<?> constructor(String name) {
        try {
            // Not initialised: nothing of a class that is no exception may run.
            Class<?> type = Class.forName(name, false, InjectionPoint.class.getClassLoader());
            check(Exception.class.isAssignableFrom(type), name + " is no exception");
            for (Class<?>[] parameters : new Class<?>[][] {{String.class}, {}}) {
                for (Constructor<?> one : type.getConstructors()) {
                    if (java.util.Arrays.equals(one.getParameterTypes(), parameters)) {
                        return one;
                    }
                }
            }
        } catch (ClassNotFoundException | LinkageError none) {
            check(false, "no class " + name + " here");
        }
        throw new ResponseStatusException(HttpStatus.UNPROCESSABLE_ENTITY, name + " cannot be made of a text");
    }

    /** A rule in force. */
    private final class Live {
        private final Rule is;
        private final Effect effect;
        private final long created = System.nanoTime();
        private final CountDownLatch gone = new CountDownLatch(1);
        private final LongAdder hits = new LongAdder();
        private final LongAdder misses = new LongAdder();
        private final LongAdder capped = new LongAdder();
        private final LongAdder failed = new LongAdder();
        private final AtomicInteger held = new AtomicInteger();

        Live(Rule rule) {
            is = rule;
            effect = effect(rule.fault);
        }

        long age() {
            return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - created);
        }

        boolean inForce() {
            return gone.getCount() > 0 && age() < is.ttlMs;
        }

        /** Decides about one call; one that is hit counts as held until it has been acted on. */
        boolean takes(UnaryOperator<String> header) {
            boolean fits = inForce() && (is.instance == null || is.instance.equals(instance))
                    && is.header.entrySet().stream().allMatch(mark -> mark.getValue().equals(header.apply(mark.getKey())))
                    && (is.windowMs == null || age() < is.windowMs)
                    && (is.percent == null || ThreadLocalRandom.current().nextDouble(100) < is.percent);
            if (!fits) {
                misses.increment();
                return false;
            }
            int most = is.maxConcurrent == null ? Integer.MAX_VALUE : is.maxConcurrent;
            boolean free = held.getAndUpdate(n -> n < most ? n + 1 : n) < most;
            (free ? hits : capped).increment();
            return free;
        }

        <T> T act(Callable<T> call) throws Exception {
            try {
                if (!effect.on(this)) {
                    return null;
                }
            } catch (ReflectiveOperationException notMade) {
                failed.increment();
            } finally {
                held.decrementAndGet();
            }
            return call.call();
        }

        /** A delay ends with its rule: at its deletion, and at its ttl. */
        boolean waits(long ms) throws InterruptedException {
            gone.await(Math.min(ms, is.ttlMs - age()), TimeUnit.MILLISECONDS);
            return true;
        }

        ObjectNode state() {
            ObjectNode state = JSON.valueToTree(is);
            return state.put("hits", hits.sum()).put("misses", misses.sum()).put("failed", failed.sum())
                    .put("capped", capped.sum()).put("held", held.get()).put("expires_in_ms", Math.max(0, is.ttlMs - age()));
        }
    }

    private boolean place(Rule rule) {
        check(points.isEmpty() || points.contains(rule.point), HttpStatus.NOT_FOUND,
                service + " has no injection point `" + rule.point + "`: there is " + String.join(", ", points));
        Live live = new Live(rule);
        synchronized (this) {
            Optional<Live> same = inForce().stream().filter(other -> other.is.id.equals(rule.id)).findAny();
            if (same.isPresent()) {
                check(same.get().is.equals(rule), HttpStatus.CONFLICT, "a rule `" + rule.id + "` with other content is in force");
                return false;
            }
            List<Live> more = new ArrayList<>(inForce());
            check(more.size() < MOST_RULES, HttpStatus.INSUFFICIENT_STORAGE, MOST_RULES + " rules are in force here");
            more.add(live);
            rules = List.copyOf(more);
            return true;
        }
    }

    private static void check(boolean holds, HttpStatus status, String otherwise) {
        if (!holds) {
            throw new ResponseStatusException(status, otherwise);
        }
    }

    private List<Live> inForce() {
        return rules.stream().filter(Live::inForce).toList();
    }

    private synchronized int remove(Predicate<Rule> ends) {
        List<Live> there = inForce();
        List<Live> going = there.stream().filter(live -> ends.test(live.is)).toList();
        rules = there.stream().filter(live -> !going.contains(live)).toList();
        going.forEach(live -> live.gone.countDown());
        return going.size();
    }

    /** The API. It breaks things: only where {@code chaos.enabled} says so, and only for those who may reach the actuator. */
    @RestController
    @ConditionalOnProperty("chaos.enabled")
    static class Api {
        private final InjectionPoint here;

        Api(InjectionPoint here) {
            this.here = here;
        }

        @PutMapping("/chaos/rules/{id}")
        ResponseEntity<Object> put(@PathVariable String id, @RequestBody byte[] body) throws IOException {
            check(body.length <= LARGEST_RULE, HttpStatus.PAYLOAD_TOO_LARGE, "a rule has 64 KiB at most");
            JsonNode rule = JSON.readTree(body);
            check(rule instanceof ObjectNode, "a rule is a JSON object");
            check(rule.path("id").asText(id).equals(id), "the id in the body is not the id in the address");
            boolean created = here.place(JSON.treeToValue(((ObjectNode) rule).put("id", id), Rule.class));
            return ResponseEntity.status(created ? 201 : 200).body(Map.of("id", id));
        }

        @GetMapping("/chaos/rules")
        Map<String, Object> rules() {
            return Map.of("service", here.service, "instance", here.instance,
                    "rules", here.inForce().stream().map(Live::state).toList());
        }

        @GetMapping("/chaos/points")
        Map<String, Object> points() {
            return Map.of("service", here.service, "instance", here.instance, "points", here.points);
        }

        @DeleteMapping("/chaos/rules/{id}")
        ResponseEntity<Object> delete(@PathVariable String id) {
            check(here.remove(rule -> rule.id.equals(id)) > 0, HttpStatus.NOT_FOUND, "no rule `" + id + "` is in force");
            return ResponseEntity.noContent().build();
        }

        /** Without a run nothing is deleted: "all rules, whoever made them" is never what is meant. */
        @DeleteMapping("/chaos/rules")
        Map<String, Object> deleteRun(@RequestParam(required = false) String run) {
            check(run != null && run.matches(NAME), HttpStatus.BAD_REQUEST, "say which run: DELETE /chaos/rules?run=ID");
            return Map.of("removed", here.remove(rule -> rule.run.equals(run)));
        }

        @ExceptionHandler
        ResponseEntity<Object> refused(ResponseStatusException refusal) {
            return ResponseEntity.status(refusal.getStatusCode()).body(Map.of("error", String.valueOf(refusal.getReason())));
        }

        @ExceptionHandler
        ResponseEntity<Object> noRule(JsonProcessingException wrong) {
            // A refusal of the rule's own checks comes wrapped.
            if (wrong.getCause() instanceof ResponseStatusException refusal) {
                return refused(refusal);
            }
            int status = wrong instanceof com.fasterxml.jackson.core.JsonParseException ? 400 : 422;
            return ResponseEntity.status(status).body(Map.of("error", wrong.getOriginalMessage()));
        }
    }
}
