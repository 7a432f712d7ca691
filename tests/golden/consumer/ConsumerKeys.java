import java.util.Comparator;
import org.apache.kafka.clients.consumer.ConsumerConfig;

/** Prints the settings of the consumer of the kafka-clients jar on the class path: name, type and default. */
public class ConsumerKeys {
    public static void main(String[] args) {
        ConsumerConfig.configDef().configKeys().values().stream()
            .sorted(Comparator.comparing(key -> key.name))
            .forEach(key -> System.out.println(key.name + " " + key.type + " " + key.defaultValue));
    }
}
