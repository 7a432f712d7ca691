import java.lang.reflect.Field;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.AbstractResponse;
import sun.misc.Unsafe;

/** Prints for each request the first version of the response after which Kafka's client waits. */
public class Throttling {
    public static void main(String[] args) throws Exception {
        Field field = Unsafe.class.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        Unsafe unsafe = (Unsafe) field.get(null);
        for (ApiKeys key : ApiKeys.values()) {
            // Only the class answers, so it needs no data, and no constructor runs.
            AbstractResponse response = (AbstractResponse) unsafe.allocateInstance(responseOf(key));
            String first = "never";
            for (short version = key.latestVersion(); version >= key.oldestVersion(); version--) {
                if (response.shouldClientThrottle(version)) {
                    first = Short.toString(version);
                }
            }
            System.out.println(key.id + " " + key.name + " " + first);
        }
    }

    private static Class<?> responseOf(ApiKeys key) throws Exception {
        String name = key == ApiKeys.OFFSET_FOR_LEADER_EPOCH ? "OffsetsForLeaderEpoch" : key.name;
        return Class.forName("org.apache.kafka.common.requests." + name + "Response");
    }
}
