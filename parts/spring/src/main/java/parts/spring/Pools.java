package parts.spring;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.scheduling.concurrent.ThreadPoolTaskExecutor;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/** Pools that a test keeps busy until it lets go of all of them: connections, an executor with its queue, Tomcat's threads. */
@RestController
class Pools {
    /** Longer than any test, so that none is held for ever. */
    private static final long HELD_S = 120;

    @Configuration
    static class Executors {
        @Bean
        ThreadPoolTaskExecutor orders() {
            ThreadPoolTaskExecutor orders = new ThreadPoolTaskExecutor();
            orders.setCorePoolSize(2);
            orders.setMaxPoolSize(2);
            return orders;
        }
    }

    private final DataSource database;
    private final ThreadPoolTaskExecutor orders;
    private final List<Connection> connections = new ArrayList<>();
    private volatile CountDownLatch held = new CountDownLatch(1);

    Pools(DataSource database, ThreadPoolTaskExecutor orders) {
        this.database = database;
        this.orders = orders;
    }

    @PostMapping("/scene/pools/connections")
    synchronized void connections(@RequestParam int busy) throws SQLException {
        for (int n = 0; n < busy; n++) {
            connections.add(database.getConnection());
        }
    }

    @PostMapping("/scene/pools/tasks")
    void tasks(@RequestParam int busy) {
        CountDownLatch until = held;
        for (int n = 0; n < busy; n++) {
            orders.execute(() -> await(until));
        }
    }

    @GetMapping("/scene/pools/request")
    void request() {
        await(held);
    }

    @PostMapping("/scene/pools/release")
    synchronized void release() throws SQLException {
        held.countDown();
        held = new CountDownLatch(1);
        for (Connection connection : connections) {
            connection.close();
        }
        connections.clear();
    }

    private static void await(CountDownLatch until) {
        try {
            until.await(HELD_S, TimeUnit.SECONDS);
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
        }
    }
}
