package parts.shop;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

/** Takes orders. A coupon is a part of an order that it can do without. {@code HalfOpen} is that of parts/spring. */
@SpringBootApplication(scanBasePackages = {"parts.shop", "parts.spring"})
public class App {
    public static void main(String[] args) {
        SpringApplication.run(App.class, args);
    }
}
