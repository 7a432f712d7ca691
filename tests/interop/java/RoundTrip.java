import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.internals.RecordHeader;

/** Creates a topic, writes records with keys and headers, reads them back from every partition. Arguments: servers, topic, records, codec, idempotent. */
public class RoundTrip {
    public static void main(String[] args) throws Exception {
        String servers = args[0], topic = args[1], codec = args[3], idempotent = args[4];
        int records = Integer.parseInt(args[2]);
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", servers))) {
            admin.createTopics(List.of(new NewTopic(topic, 3, (short) 3))).all().get(30, TimeUnit.SECONDS);
            System.out.println("nodes " + admin.describeCluster().nodes().get(10, TimeUnit.SECONDS).size());
        }
        Properties p = new Properties();
        p.put("bootstrap.servers", servers);
        p.put("acks", "all");
        p.put("linger.ms", "5");
        p.put("compression.type", codec);
        p.put("enable.idempotence", idempotent);
        p.put("key.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        p.put("value.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        Map<String, RecordMetadata> acked = new HashMap<>();
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(p)) {
            List<Map.Entry<String, Future<RecordMetadata>>> sent = new ArrayList<>();
            for (int i = 0; i < records; i++) {
                ProducerRecord<String, String> record = new ProducerRecord<>(topic, null, 1_600_000_000_000L + i, "key-" + i, "value-" + i);
                record.headers().add(new RecordHeader("number", Integer.toString(i).getBytes()));
                sent.add(Map.entry("key-" + i, producer.send(record)));
            }
            for (Map.Entry<String, Future<RecordMetadata>> entry : sent) acked.put(entry.getKey(), entry.getValue().get(60, TimeUnit.SECONDS));
        }
        Properties c = new Properties();
        c.put("bootstrap.servers", servers);
        c.put("key.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        c.put("value.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        int read = 0, wrong = 0;
        long offsetForTime = -1;
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(c)) {
            List<TopicPartition> partitions = new ArrayList<>();
            consumer.partitionsFor(topic).forEach(i -> partitions.add(new TopicPartition(topic, i.partition())));
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            long end = System.nanoTime() + 60_000_000_000L;
            while (read < records && System.nanoTime() < end) {
                for (ConsumerRecord<String, String> r : consumer.poll(Duration.ofMillis(500))) {
                    read++;
                    RecordMetadata m = acked.get(r.key());
                    int number = Integer.parseInt(r.key().substring(4));
                    boolean same = m != null && m.partition() == r.partition() && m.offset() == r.offset() && r.value().equals("value-" + number)
                            && r.timestamp() == 1_600_000_000_000L + number
                            && new String(r.headers().lastHeader("number").value()).equals(Integer.toString(number));
                    if (!same) wrong++;
                }
            }
            Map<TopicPartition, Long> times = new HashMap<>();
            for (TopicPartition tp : partitions) times.put(tp, 1_600_000_000_000L);
            for (OffsetAndTimestamp found : consumer.offsetsForTimes(times).values()) if (found != null) offsetForTime = Math.max(offsetForTime, found.offset());
        }
        System.out.println("acked " + acked.size() + " read " + read + " wrong " + wrong + " first-by-time " + offsetForTime);
    }
}
