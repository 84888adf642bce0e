package parts.shop;

import java.time.Duration;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.stereotype.Component;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PutMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RestController;

/**
 * Holds a retry consumer, or lets it go at a rate. The consumer asks {@link #next} before each message, and says what waits.
 * After the answer to a hold not one more message begins.
 */
@Component
class RetrySwitch {
    /** After a pause it may make up for so much and no more: else a slow moment would end in a burst. */
    private static final long MAKES_UP_NS = Duration.ofSeconds(1).toNanos();

    /** {@code rate}: messages a second at most; none: without a limit. */
    record Stands(boolean held, Double rate) {}

    record Seen(long backlog, long released, Double rate, boolean held) {}

    private Stands now = new Stands(false, null);
    private long backlog;
    private long released;
    /** When the next message may begin, by {@link System#nanoTime}. */
    private long due = System.nanoTime();

    /** Waits for the turn of the next message, so long at most. False: it is held, or its turn is later. */
    synchronized boolean next(Duration patience) throws InterruptedException {
        long end = System.nanoTime() + patience.toNanos();
        while (true) {
            long time = System.nanoTime();
            if (!now.held && (now.rate == null || due - time <= 0)) {
                take(time);
                return true;
            }
            long wake = now.held || due - end > 0 ? end : due;
            if (end - time <= 0) {
                return false;
            }
            // Rounded up: a wait of nothing would be one without an end.
            wait(Math.max(1, (wake - time + 999_999) / 1_000_000));
        }
    }

    private void take(long time) {
        released++;
        if (now.rate != null) {
            due = Math.max(due, time - MAKES_UP_NS) + (long) (1e9 / now.rate);
        }
    }

    synchronized void waiting(long messages) {
        backlog = messages;
    }

    private synchronized Seen seen() {
        return new Seen(backlog, released, now.rate, now.held);
    }

    private synchronized void set(Stands wanted) {
        now = wanted;
        due = System.nanoTime();
        notifyAll();
    }

    @RestController
    @RequestMapping("/app/retry")
    static class Endpoint {
        private final RetrySwitch retries;

        Endpoint(RetrySwitch retries) {
            this.retries = retries;
        }

        @GetMapping
        Seen seen() {
            return retries.seen();
        }

        @PutMapping
        ResponseEntity<Seen> set(@RequestBody Stands wanted) {
            if (wanted.rate() != null && !(wanted.rate() > 0 && wanted.rate() <= 1e6)) {
                return ResponseEntity.status(HttpStatus.BAD_REQUEST).build();
            }
            retries.set(wanted);
            return ResponseEntity.ok(retries.seen());
        }
    }
}
