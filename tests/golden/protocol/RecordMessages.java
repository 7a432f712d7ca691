import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.message.ResponseHeaderData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;

/**
 * Has Apache Kafka's own classes write every message in every version: the golden bytes of this folder. See README.md.
 *
 * One line of JSON a message: its name, version and bytes, and the values it was made of, under Kafka's field names. The values follow from
 * the message's name and version alone, so that a second run writes the same file.
 */
public class RecordMessages {
    private static final JsonNodeFactory NODES = JsonNodeFactory.instance;
    private static final ObjectMapper JSON = new ObjectMapper();
    /** Requests of the raft controller, and the last of ZooKeeper's time. */
    private static final List<Integer> NOT_OURS = Arrays.asList(52, 53, 54, 55, 58, 59, 62, 63, 64);
    /** What consumers say to each other. The records of Kafka's own topics are left out: 2.8.2 has no JSON converters for them. */
    private static final List<String> DATA = Arrays.asList("ConsumerProtocolSubscription", "ConsumerProtocolAssignment");

    /** Two elements an array and every tag; the same with some tags left out; null where it may be; nothing but defaults in arrays and strings. */
    private enum Fill { FULL, SOME_TAGS, NULLS, EMPTY }

    private final PrintStream out;
    private final JsonNode message;
    private final int version;
    private final Fill fill;
    private long random;

    private RecordMessages(PrintStream out, JsonNode message, int version, Fill fill) {
        this.out = out;
        this.message = message;
        this.version = version;
        this.fill = fill;
        this.random = message.get("name").asText().hashCode() * 31L + version;
    }

    private long next() {
        random = random * 6364136223846793005L + 1442695040888963407L;
        return random >>> 16;
    }

    private static boolean has(JsonNode versions, int version) {
        if (versions == null || versions.asText().equals("none")) return false;
        String[] ends = versions.asText().split("-");
        if (ends[0].endsWith("+")) return version >= Integer.parseInt(ends[0].substring(0, ends[0].length() - 1));
        return version >= Integer.parseInt(ends[0]) && version <= Integer.parseInt(ends[ends.length - 1]);
    }

    private static String jsonName(JsonNode field) {
        String name = field.get("name").asText();
        return Character.toLowerCase(name.charAt(0)) + name.substring(1);
    }

    private JsonNode fieldsOf(JsonNode field, String type) {
        if (field.has("fields")) return field.get("fields");
        for (JsonNode struct : message.get("commonStructs")) if (struct.get("name").asText().equals(type)) return struct.get("fields");
        throw new IllegalArgumentException("no struct " + type);
    }

    private String text(JsonNode field) {
        long random = next();
        String[] tails = {"", "-\u00e9", "-\u65e5\u672c", "-\ud83d\ude00"};
        String text = field.get("name").asText() + "-" + random % 1000 + tails[(int) (random >>> 12) & 3];
        return (random >>> 20) % 29 == 0 ? text + "x".repeat(130) : text;
    }

    private JsonNode value(JsonNode field, String type) {
        switch (type) {
            case "bool": return NODES.booleanNode(true);
            case "int8": return NODES.numberNode((byte) (next() | 1));
            case "int16": return NODES.numberNode((short) (next() | 1));
            case "int32": return NODES.numberNode((int) (next() | 1));
            case "int64": return NODES.numberNode(next() << 20 ^ next() | 1);
            case "uuid": return NODES.textNode(new Uuid(next() | 1, next()).toString());
            case "float64": return NODES.numberNode((double) (next() | 1) / 1024);
            case "bytes":
                byte[] bytes = new byte[fill == Fill.EMPTY ? 0 : (int) (next() % 40)];
                for (int i = 0; i < bytes.length; i++) bytes[i] = (byte) next();
                return NODES.binaryNode(bytes);
            case "string": return NODES.textNode(fill == Fill.EMPTY ? "" : text(field));
            case "records":
                byte[] records = new byte[fill == Fill.EMPTY ? 0 : (int) (next() % 8 == 0 ? 150 : next() % 40)];
                for (int i = 0; i < records.length; i++) records[i] = (byte) next();
                return NODES.binaryNode(records);
            default: return struct(fieldsOf(field, type));
        }
    }

    private ObjectNode struct(JsonNode fields) {
        ObjectNode struct = NODES.objectNode();
        for (JsonNode field : fields) {
            boolean leftOut = field.has("tag") && (fill == Fill.NULLS || fill == Fill.EMPTY || fill == Fill.SOME_TAGS && next() % 2 == 0);
            if (!has(field.get("versions"), version) || leftOut) continue;
            String type = field.get("type").asText();
            if (fill == Fill.NULLS && has(field.get("nullableVersions"), version)) {
                struct.set(jsonName(field), NODES.nullNode());
            } else if (type.startsWith("[]")) {
                ArrayNode array = NODES.arrayNode();
                for (int i = 0; i < (fill == Fill.EMPTY ? 0 : fill == Fill.NULLS ? 1 : 2); i++) array.add(value(field, type.substring(2)));
                struct.set(jsonName(field), array);
            } else {
                struct.set(jsonName(field), value(field, type));
            }
        }
        return struct;
    }

    private String record(String before) throws Exception {
        String name = message.get("name").asText();
        String converter = "org.apache.kafka.common.message." + name + (DATA.contains(name) ? "" : "Data") + "JsonConverter";
        Method read = Class.forName(converter).getMethod("read", JsonNode.class, short.class);
        ObjectNode values = struct(message.get("fields"));
        String hex = hex((Message) read.invoke(null, values, (short) version), version);
        if (!hex.equals(before)) print(out, name, version, hex, values);
        return hex;
    }

    private static String hex(Message message, int version) {
        ByteBuffer bytes = MessageUtil.toByteBuffer(message, (short) version);
        StringBuilder hex = new StringBuilder();
        while (bytes.hasRemaining()) hex.append(String.format("%02x", bytes.get()));
        return hex.toString();
    }

    private static void print(PrintStream out, String name, int version, String hex, ObjectNode values) throws Exception {
        ObjectNode line = NODES.objectNode().put("message", name).put("version", version).put("hex", hex);
        out.println(JSON.writeValueAsString(line.set("json", values)));
    }

    private static void recordHeaders(PrintStream out) throws Exception {
        for (int[] keyAndVersion : new int[][] {{0, 7}, {0, 9}, {1, 12}, {3, 8}, {7, 0}, {7, 1}, {7, 3}, {18, 0}, {18, 3}}) {
            ApiKeys key = ApiKeys.forId(keyAndVersion[0]);
            short version = (short) keyAndVersion[1], requestHeader = key.requestHeaderVersion(version), responseHeader = key.responseHeaderVersion(version);
            ObjectNode values = NODES.objectNode().put("api_key", key.id).put("api_version", version).put("correlation_id", 1234567);
            print(out, "ResponseHeader", responseHeader, hex(new ResponseHeaderData().setCorrelationId(1234567), responseHeader), values);
            for (String clientId : requestHeader == 0 ? new String[] {""} : new String[] {"web-shop", "", null}) {
                RequestHeaderData header = new RequestHeaderData().setRequestApiKey(key.id).setRequestApiVersion(version)
                    .setCorrelationId(1234567).setClientId(clientId);
                values.put("client_id", requestHeader == 0 ? null : clientId);
                print(out, "RequestHeader", requestHeader, hex(header, requestHeader), values);
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, false, "UTF-8");
        for (JsonNode message : JSON.readTree(new File(arguments[0]))) {
            if (message.has("apiKey") ? NOT_OURS.contains(message.get("apiKey").asInt()) : !DATA.contains(message.get("name").asText())) continue;
            String[] versions = message.get("validVersions").asText().split("-");
            for (int version = Integer.parseInt(versions[0]); version <= Integer.parseInt(versions[versions.length - 1]); version++) {
                String before = null;
                for (Fill fill : Fill.values()) before = new RecordMessages(out, message, version, fill).record(before);
            }
        }
        recordHeaders(out);
        out.flush();
    }
}
