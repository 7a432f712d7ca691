import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;

/**
 * Consume, transform, produce: each input record becomes one output record, in transactions that commit the input's offsets too.
 * Arguments: servers, input topic, output topic, name (group, member and transactional id), ms that a transaction takes at least.
 * Whatever goes wrong ends the process: whoever starts it again goes on behind the last committed transaction.
 */
public class Transform {
    public static void main(String[] args) throws Exception {
        String servers = args[0], input = args[1], output = args[2], name = args[3];
        long pause = Long.parseLong(args[4]);
        Properties p = new Properties();
        p.put("bootstrap.servers", servers);
        p.put("transactional.id", name);
        p.put("transaction.timeout.ms", "20000");
        p.put("key.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer");
        p.put("value.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer");
        Properties c = new Properties();
        c.put("bootstrap.servers", servers);
        c.put("group.id", name);
        c.put("group.instance.id", name);
        c.put("isolation.level", "read_committed");
        c.put("enable.auto.commit", "false");
        c.put("auto.offset.reset", "earliest");
        c.put("session.timeout.ms", "10000");
        c.put("max.poll.records", "200");
        c.put("key.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        c.put("value.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(p); KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(c)) {
            producer.initTransactions();
            consumer.subscribe(List.of(input));
            while (true) {
                ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(200));
                if (records.isEmpty()) continue;
                producer.beginTransaction();
                Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
                for (ConsumerRecord<byte[], byte[]> record : records) {
                    producer.send(new ProducerRecord<>(output, record.partition(), record.key(), record.value()));
                    offsets.put(new TopicPartition(record.topic(), record.partition()), new OffsetAndMetadata(record.offset() + 1));
                }
                producer.flush();
                Thread.sleep(pause);
                producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
                producer.commitTransaction();
            }
        } catch (Exception e) {
            System.err.println(e);
            Runtime.getRuntime().halt(1);
        }
    }
}
