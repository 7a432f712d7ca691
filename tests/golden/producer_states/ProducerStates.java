import java.lang.reflect.Method;

/** Prints each change of state that Kafka's TransactionManager allows: the state before, and the state after. */
public class ProducerStates {
    public static void main(String[] args) throws Exception {
        Class<?> states =
            Class.forName("org.apache.kafka.clients.producer.internals.TransactionManager$State");
        Method allowed = states.getDeclaredMethod("isTransitionValid", states, states);
        allowed.setAccessible(true);
        for (Object before : states.getEnumConstants()) {
            for (Object after : states.getEnumConstants()) {
                if ((Boolean) allowed.invoke(before, before, after)) {
                    System.out.println(before + " " + after);
                }
            }
        }
    }
}
