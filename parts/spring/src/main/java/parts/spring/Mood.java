package parts.spring;

import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.stereotype.Component;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.filter.OncePerRequestFilter;

/** Bad luck on the way to the actuator and to the half-open endpoint, as a proxy or a login page would bring it. */
@Component
@Order(Ordered.HIGHEST_PRECEDENCE)
class Mood extends OncePerRequestFilter {
    enum Is { WELL, SLOW, FORBIDDEN, BROKEN, GARBAGE }

    private static final long SLOW_MS = 30_000;
    private volatile Is mood = Is.WELL;

    @RestController
    static class Turn {
        private final Mood mood;

        Turn(Mood mood) {
            this.mood = mood;
        }

        @PostMapping("/scene/mood")
        void turn(@RequestParam Is is) {
            mood.mood = is;
        }
    }

    @Override
    protected boolean shouldNotFilter(HttpServletRequest request) {
        String path = request.getRequestURI();
        return !path.startsWith("/actuator/circuitbreakers") && !path.startsWith("/app/");
    }

    @Override
    protected void doFilterInternal(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
            throws IOException, ServletException {
        switch (mood) {
            case WELL -> chain.doFilter(request, response);
            case SLOW -> {
                sleep();
                chain.doFilter(request, response);
            }
            case FORBIDDEN -> response.setStatus(403);
            case BROKEN -> response.setStatus(503);
            case GARBAGE -> {
                response.setContentType("text/html");
                response.getWriter().write("<html><title>Log in</title></html>");
            }
        }
    }

    private static void sleep() {
        try {
            Thread.sleep(SLOW_MS);
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
        }
    }
}
