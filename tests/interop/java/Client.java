import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.*;

/**
 * The Java clients, driven by tests/interop/test_client_java.py: ABILITY SERVERS TOPIC …, prints JSON (see client_contract.py).
 *
 * Written for what kafka-clients 2.0 and 4 have in common.
 */
public class Client {
    private static final long FIRST_TIME = 1_600_000_000_000L;
    private static final long PATIENCE_S = 60;
    private static final String FILL = String.join("", Collections.nCopies(100, "x"));

    private final String servers;
    private final String topic;

    private Client(String servers, String topic) {
        this.servers = servers;
        this.topic = topic;
    }

    private Map<String, Object> settings(Object... more) {
        Map<String, Object> settings = new HashMap<>(Map.of("bootstrap.servers", servers));
        for (int i = 0; i < more.length; i += 2) settings.put((String) more[i], more[i + 1]);
        return settings;
    }

    private String produce(int count, String codec) throws Exception {
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(
                settings("acks", "all", "linger.ms", "20", "compression.type", codec), new StringSerializer(), new StringSerializer())) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                ProducerRecord<String, String> record = new ProducerRecord<>(topic, null, FIRST_TIME + i, "k" + i, "value " + i + " " + FILL);
                record.headers().add(new RecordHeader("made-by", "test".getBytes(StandardCharsets.UTF_8)));
                sent.add(producer.send(record));
            }
            for (Future<RecordMetadata> one : sent) one.get(PATIENCE_S, TimeUnit.SECONDS);
        }
        return Integer.toString(count);
    }

    private KafkaConsumer<String, String> consumer(Object... more) {
        Map<String, Object> settings = settings("enable.auto.commit", "false", "auto.offset.reset", "earliest");
        settings.putAll(settings(more));
        return new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    }

    private String consume(int count) {
        List<String> read = new ArrayList<>();
        try (KafkaConsumer<String, String> consumer = consumer()) {
            consumer.assign(consumer.partitionsFor(topic).stream().map(p -> new TopicPartition(topic, p.partition())).collect(Collectors.toList()));
            consumer.seekToBeginning(consumer.assignment());
            waitFor(count + " records", () -> {
                for (ConsumerRecord<String, String> r : consumer.poll(Duration.ofMillis(100)))
                    read.add("[" + r.partition() + "," + r.offset() + ",\"" + r.key() + "\",\"" + r.value() + "\"]");
                return read.size() >= count;
            });
        }
        return read.toString();
    }

    private String join(String group, int count) {
        Set<String> values = new TreeSet<>();
        List<KafkaConsumer<String, String>> members = new ArrayList<>();
        BooleanSupplier everything = () -> sizes(members, values).equals(List.of(4)) && values.size() == count;
        members.add(member(group));
        waitFor("everything", everything);
        members.add(member(group));
        waitFor("a half each", () -> sizes(members, values).equals(List.of(2, 2)));
        members.remove(0).close();
        waitFor("the rest", () -> sizes(members, values).equals(List.of(4)));
        members.get(0).close();
        return "[4,[2,2],4," + values.stream().map(v -> '"' + v + '"').collect(Collectors.joining(",", "[", "]")) + "]";
    }

    private KafkaConsumer<String, String> member(String group) {
        KafkaConsumer<String, String> member = consumer("group.id", group, "heartbeat.interval.ms", "200", "session.timeout.ms", "10000");
        member.subscribe(List.of(topic));
        return member;
    }

    private static List<Integer> sizes(List<KafkaConsumer<String, String>> members, Set<String> values) {
        List<Integer> sizes = new ArrayList<>();
        for (KafkaConsumer<String, String> member : members) {
            for (ConsumerRecord<String, String> r : member.poll(Duration.ofMillis(100))) values.add(r.value());
            sizes.add(member.assignment().size());
        }
        return sizes;
    }

    private String offsets(String group) throws Exception {
        TopicPartition partition = new TopicPartition(topic, 0);
        try (AdminClient admin = AdminClient.create(settings()); KafkaConsumer<String, String> consumer = consumer("group.id", group)) {
            consumer.assign(List.of(partition));
            consumer.commitSync(Map.of(partition, new OffsetAndMetadata(4)));
            long committed = admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get(PATIENCE_S, TimeUnit.SECONDS)
                .get(partition).offset();
            long begin = consumer.beginningOffsets(List.of(partition)).get(partition), end = consumer.endOffsets(List.of(partition)).get(partition);
            return List.of(committed, begin, end, consumer.offsetsForTimes(Map.of(partition, FIRST_TIME + 3)).get(partition).offset()).toString();
        }
    }

    private String topics() throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        try (AdminClient admin = AdminClient.create(settings()); KafkaConsumer<String, String> consumer = consumer()) {
            NewTopic wanted = new NewTopic(topic, 3, (short) 2).configs(Map.of("retention.ms", "3600000"));
            admin.createTopics(List.of(wanted)).all().get(PATIENCE_S, TimeUnit.SECONDS);
            int partitions = 0;  // any broker may be asked each time, also one that has not heard of it when another has
            for (long end = System.nanoTime() + PATIENCE_S * 1_000_000_000L; partitions < 3 && System.nanoTime() < end; )
                partitions = partitions(consumer);
            Config config = onceKnown(() -> admin.describeConfigs(List.of(resource)).all().get(PATIENCE_S, TimeUnit.SECONDS).get(resource));
            admin.deleteTopics(List.of(topic)).all().get(PATIENCE_S, TimeUnit.SECONDS);
            waitFor("the end of the topic", () -> !consumer.listTopics().containsKey(topic));
            return "[" + partitions + ",\"" + config.get("retention.ms").value() + "\",true]";
        }
    }

    /** Of the topic, as some broker tells; 0 where it has not heard of it yet. */
    private int partitions(KafkaConsumer<String, String> consumer) {
        List<?> told = consumer.partitionsFor(topic);
        return told == null ? 0 : told.size();
    }

    /** Any broker may be asked, and each hears of a topic in its own time. */
    private static <T> T onceKnown(Callable<T> question) throws Exception {
        for (long end = System.nanoTime() + PATIENCE_S * 1_000_000_000L; ; )
            try {
                return question.call();
            } catch (ExecutionException error) {
                if (!(error.getCause() instanceof UnknownTopicOrPartitionException) || System.nanoTime() > end) throw error;
            }
    }

    private static void waitFor(String what, BooleanSupplier condition) {
        for (long end = System.nanoTime() + PATIENCE_S * 1_000_000_000L; !condition.getAsBoolean(); )
            if (System.nanoTime() > end) throw new IllegalStateException(what + " did not come");
    }

    public static void main(String[] args) throws Exception {
        Client client = new Client(args[1], args[2]);
        switch (args[0]) {
            case "produce": System.out.println(client.produce(Integer.parseInt(args[3]), args[4])); break;
            case "consume": System.out.println(client.consume(Integer.parseInt(args[3]))); break;
            case "join": System.out.println(client.join(args[3], Integer.parseInt(args[4]))); break;
            case "offsets": System.out.println(client.offsets(args[3])); break;
            case "topics": System.out.println(client.topics()); break;
            default: throw new IllegalArgumentException(args[0]);
        }
    }
}
