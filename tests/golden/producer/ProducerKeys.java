import java.util.Comparator;
import org.apache.kafka.clients.producer.ProducerConfig;

/** Prints the settings of the producer of the kafka-clients jar on the class path: name, type and default. */
public class ProducerKeys {
    public static void main(String[] args) {
        ProducerConfig.configDef().configKeys().values().stream()
            .sorted(Comparator.comparing(key -> key.name))
            .forEach(key -> System.out.println(key.name + " " + key.type + " " + key.defaultValue));
    }
}
