import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.common.TopicPartition;

/**
 * Kafka's ConsumerPerformance without a group: it assigns itself all partitions of a topic and reads from their beginning, for brokers that have
 * no group coordinator. Arguments: bootstrap servers, topic, messages. Prints MB (1024 * 1024) read a second, from the first poll to the last record.
 */
public class AssignedConsumerPerformance {
    public static void main(String[] args) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", args[0]);
        properties.put("key.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        properties.put("value.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        properties.put("receive.buffer.bytes", "2097152");
        properties.put("max.partition.fetch.bytes", "1048576");
        properties.put("check.crcs", "false");
        long wanted = Long.parseLong(args[2]);
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties)) {
            List<TopicPartition> partitions = new ArrayList<>();
            consumer.partitionsFor(args[1]).forEach(p -> partitions.add(new TopicPartition(p.topic(), p.partition())));
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            long read = 0, bytes = 0, start = System.nanoTime(), last = start;
            while (read < wanted) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofSeconds(1))) {
                    read++;
                    bytes += record.value().length + (record.key() == null ? 0 : record.key().length);
                    last = System.nanoTime();
                }
                if (System.nanoTime() - last > 60_000_000_000L) throw new IllegalStateException("nothing came for 60 s after " + read + " records");
            }
            double seconds = (last - start) / 1e9;
            System.out.printf(Locale.ROOT, "%d records, %.3f s, %.2f MB/sec%n", read, seconds, bytes / 1048576.0 / seconds);
        }
    }
}
