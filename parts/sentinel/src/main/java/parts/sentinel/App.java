package parts.sentinel;

import com.alibaba.csp.sentinel.init.InitExecutor;
import com.alibaba.csp.sentinel.slots.block.RuleConstant;
import com.alibaba.csp.sentinel.slots.block.degrade.DegradeRule;
import com.alibaba.csp.sentinel.slots.block.degrade.DegradeRuleManager;
import com.alibaba.csp.sentinel.slots.block.flow.FlowRule;
import com.alibaba.csp.sentinel.slots.block.flow.FlowRuleManager;
import java.util.List;

/** A service with a few rules in memory, as one without a rule source has them. */
public class App {
    public static void main(String[] args) throws InterruptedException {
        DegradeRuleManager.loadRules(List.of(errors("coupon", 3), errors("stock", 5)));
        FlowRule flow = new FlowRule("order");
        flow.setGrade(RuleConstant.FLOW_GRADE_QPS).setCount(200);
        FlowRuleManager.loadRules(List.of(flow));
        InitExecutor.doInit();
        Thread.currentThread().join();
    }

    private static DegradeRule errors(String resource, int count) {
        return new DegradeRule(resource)
                .setGrade(RuleConstant.DEGRADE_GRADE_EXCEPTION_COUNT)
                .setCount(count)
                .setTimeWindow(5)
                .setMinRequestAmount(3)
                .setStatIntervalMs(10_000);
    }
}
