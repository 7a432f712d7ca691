import java.time.Duration;
import java.util.*;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.*;

/** The Java client's transactions, driven by tests/interop/test_transactions.py: ABILITY SERVERS TOPIC …, prints JSON. */
public class Transactions {
    private static Map<String, Object> settings(String servers, Object... more) {
        Map<String, Object> settings = new HashMap<>(Map.of("bootstrap.servers", servers));
        for (int i = 0; i < more.length; i += 2) settings.put((String) more[i], more[i + 1]);
        return settings;
    }

    private static KafkaProducer<String, String> producer(String servers, String id) {
        KafkaProducer<String, String> producer =
                new KafkaProducer<>(settings(servers, "transactional.id", id), new StringSerializer(), new StringSerializer());
        producer.initTransactions();
        return producer;
    }

    private static KafkaConsumer<String, String> consumer(String servers, String group) {
        Map<String, Object> given = settings(
                servers, "group.id", group, "isolation.level", "read_committed", "enable.auto.commit", "false", "auto.offset.reset", "earliest");
        return new KafkaConsumer<>(given, new StringDeserializer(), new StringDeserializer());
    }

    /** One transaction for each comma-separated group of values; a group that begins with "-" is aborted. */
    private static void write(String servers, String topic, String id, String story) {
        try (KafkaProducer<String, String> producer = producer(servers, id)) {
            int i = 0;
            for (String group : story.split(",")) {
                boolean abort = group.startsWith("-");
                producer.beginTransaction();
                for (String value : (abort ? group.substring(1) : group).split(" ")) producer.send(new ProducerRecord<>(topic, i++ % 3, null, value));
                producer.flush(); // an abort drops what was not sent yet
                if (abort) producer.abortTransaction();
                else producer.commitTransaction();
            }
        }
    }

    private static List<String> read(String servers, String topic, int count) {
        List<String> values = new ArrayList<>();
        try (KafkaConsumer<String, String> consumer = consumer(servers, "reader of " + topic)) {
            consumer.assign(List.of(new TopicPartition(topic, 0), new TopicPartition(topic, 1), new TopicPartition(topic, 2)));
            long end = System.nanoTime() + 60_000_000_000L;
            while (values.size() < count && System.nanoTime() < end)
                consumer.poll(Duration.ofMillis(200)).forEach(record -> values.add(record.value()));
        }
        return values;
    }

    /** Read `count` records with a group, write each in upper case, and commit their offsets, all in one transaction. */
    private static void transform(String servers, String input, String output, String name, int count, boolean commit) {
        try (KafkaProducer<String, String> producer = producer(servers, name); KafkaConsumer<String, String> consumer = consumer(servers, name)) {
            consumer.subscribe(List.of(input));
            Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
            producer.beginTransaction();
            for (int left = count; left > 0; ) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
                    producer.send(new ProducerRecord<>(output, record.partition(), null, record.value().toUpperCase()));
                    offsets.put(new TopicPartition(record.topic(), record.partition()), new OffsetAndMetadata(record.offset() + 1));
                    left--;
                }
            }
            producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
            producer.flush();
            if (commit) producer.commitTransaction();
            else producer.abortTransaction();
        }
    }

    /** A producer with an open transaction, another one with its id; what the first is told when it commits. */
    private static String zombie(String servers, String topic, String id) {
        try (KafkaProducer<String, String> first = producer(servers, id)) {
            first.beginTransaction();
            first.send(new ProducerRecord<>(topic, 0, null, "zombie"));
            first.flush();
            try (KafkaProducer<String, String> second = producer(servers, id)) {
                second.beginTransaction();
                second.send(new ProducerRecord<>(topic, 0, null, "living"));
                String told = "committed";
                try {
                    first.commitTransaction();
                } catch (ProducerFencedException | InvalidProducerEpochException e) {
                    told = "fenced";
                }
                second.commitTransaction();
                return told;
            }
        }
    }

    private static String json(List<String> values) {
        return values.stream().map(value -> '"' + value + '"').collect(Collectors.joining(", ", "[", "]"));
    }

    public static void main(String[] args) {
        String servers = args[1], topic = args[2];
        switch (args[0]) {
            case "write" -> write(servers, topic, args[3], args[4]);
            case "read" -> System.out.println(json(read(servers, topic, Integer.parseInt(args[3]))));
            case "transform" -> transform(servers, topic, args[3], args[4], Integer.parseInt(args[5]), args[6].equals("True"));
            case "zombie" -> System.out.println(json(List.of(zombie(servers, topic, args[3]))));
            default -> throw new IllegalArgumentException(args[0]);
        }
    }
}
