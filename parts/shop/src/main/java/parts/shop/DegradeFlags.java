package parts.shop;

import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/** Campaigns whose coupons are not asked for: a key each in Redis, for all instances. */
@Component
@EnableScheduling
class DegradeFlags {
    private static final String PREFIX = "degrade:order:coupon:";
    private static final Duration STANDS = Duration.ofMinutes(10);

    private final StringRedisTemplate redis;
    private final Set<String> mine = ConcurrentHashMap.newKeySet();
    private volatile boolean stubborn;

    DegradeFlags(StringRedisTemplate redis) {
        this.redis = redis;
    }

    boolean stands(String campaign) {
        return Boolean.TRUE.equals(redis.hasKey(PREFIX + campaign));
    }

    void set(String campaign) {
        redis.opsForValue().set(PREFIX + campaign, "on", STANDS);
        mine.add(campaign);
    }

    /** A fault of its own, for the tests: what it once set it sets again, from memory. */
    @Scheduled(fixedDelay = 100)
    void setAgain() {
        if (stubborn) {
            mine.forEach(this::set);
        }
    }

    @RestController
    static class Switch {
        private final DegradeFlags flags;

        Switch(DegradeFlags flags) {
            this.flags = flags;
        }

        @PostMapping("/scene/flags")
        void flags(@RequestParam boolean stubborn) {
            flags.stubborn = stubborn;
            if (!stubborn) {
                flags.mine.clear();
            }
        }
    }
}
