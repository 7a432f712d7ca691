import java.util.Comparator;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.ConfigDef;

/** Prints the settings of a client of the kafka-clients jar on the class path: name, type and default. */
public class ClientKeys {
    public static void main(String[] args) {
        settings(args[0]).configKeys().values().stream()
            .sorted(Comparator.comparing(key -> key.name))
            .forEach(key -> System.out.println(
                key.name + " " + key.type + " " + (key.hasDefault() ? key.defaultValue : "required")));
    }

    private static ConfigDef settings(String client) {
        switch (client) {
            case "admin": return AdminClientConfig.configDef();
            case "consumer": return ConsumerConfig.configDef();
            case "producer": return ProducerConfig.configDef();
            default: throw new IllegalArgumentException(client);
        }
    }
}
