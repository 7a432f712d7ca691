import java.util.Comparator;
import org.apache.kafka.clients.admin.AdminClientConfig;

/** Prints the settings of the admin client of the kafka-clients jar on the class path: name, type and default. */
public class AdminKeys {
    public static void main(String[] args) {
        AdminClientConfig.configDef().configKeys().values().stream()
            .sorted(Comparator.comparing(key -> key.name))
            .forEach(key -> System.out.println(
                key.name + " " + key.type + " " + (key.hasDefault() ? key.defaultValue : "required")));
    }
}
