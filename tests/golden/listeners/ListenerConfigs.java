import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Properties;

/** What KafkaConfig makes of each line of standard input, key=value;key=value: its listeners, or the error with which the broker would not start. */
public final class ListenerConfigs {
    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null;) {
            Properties properties = new Properties();
            properties.put("zookeeper.connect", "127.0.0.1:1");
            for (String pair : line.split(";")) {
                int equals = pair.indexOf('=');
                if (equals > 0) properties.put(pair.substring(0, equals), pair.substring(equals + 1));
            }
            System.out.println(said(properties).replace("\n", " "));
        }
    }

    private static String said(Properties properties) {
        try {
            kafka.server.KafkaConfig config = new kafka.server.KafkaConfig(properties, false);
            return "listeners " + config.listeners().mkString(" ") + " advertised " + config.advertisedListeners().mkString(" ")
                    + " inter-broker " + config.interBrokerListenerName();
        } catch (Exception error) {
            return "refused: " + error.getMessage();
        }
    }
}
