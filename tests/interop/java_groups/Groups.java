import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;

/** Consumers of one group share a topic of four partitions, come, commit and go. Arguments: servers, topic, assignor class, instance id prefix or "". */
public class Groups {
    static final int PARTITIONS = 4, RECORDS = 400;

    /** A consumer in a thread of its own. */
    static class Member implements Runnable, ConsumerRebalanceListener {
        final Set<Integer> assigned = ConcurrentHashMap.newKeySet();
        final Set<String> read = ConcurrentHashMap.newKeySet();
        volatile boolean stopped;
        volatile int revocations;
        final Thread thread = new Thread(this);
        final Properties settings = new Properties();
        final String topic;

        Member(String servers, String topic, String assignor, String instance) {
            this.topic = topic;
            settings.put("bootstrap.servers", servers);
            settings.put("group.id", "java-" + topic);
            settings.put("auto.offset.reset", "earliest");
            settings.put("enable.auto.commit", "false");
            settings.put("heartbeat.interval.ms", "300");
            settings.put("partition.assignment.strategy", assignor);
            if (!instance.isEmpty()) settings.put("group.instance.id", instance);
            settings.put("key.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
            settings.put("value.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
            thread.setDaemon(true);
            thread.start();
        }

        public void onPartitionsAssigned(Collection<TopicPartition> given) { for (TopicPartition p : given) assigned.add(p.partition()); }

        public void onPartitionsRevoked(Collection<TopicPartition> taken) {
            if (!stopped) revocations++;
            for (TopicPartition p : taken) assigned.remove(p.partition());
        }

        public void run() {
            try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings)) {
                consumer.subscribe(List.of(topic), this);
                while (!stopped) {
                    for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(100))) read.add(record.partition() + "/" + record.offset());
                    try {
                        consumer.commitSync();
                    } catch (RebalanceInProgressException | CommitFailedException rebalance) {
                        continue;  // the next poll joins again, and the next commit says it again
                    }
                }
            }
        }

        void close() throws InterruptedException {
            stopped = true;
            thread.join(60_000);
        }
    }

    static void until(BooleanSupplier condition, String what) throws Exception {
        long end = System.nanoTime() + 60_000_000_000L;
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > end) throw new Exception("not " + what);
            Thread.sleep(20);
        }
        System.out.println(what);
    }

    public static void main(String[] args) throws Exception {
        String servers = args[0], topic = args[1], assignor = args[2], instances = args[3];
        boolean isStatic = !instances.isEmpty();
        Properties p = new Properties();
        p.put("bootstrap.servers", servers);
        p.put("key.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        p.put("value.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", servers))) {
            admin.createTopics(List.of(new NewTopic(topic, PARTITIONS, (short) 3))).all().get(30, TimeUnit.SECONDS);
            try (KafkaProducer<String, String> producer = new KafkaProducer<>(p)) {
                for (int i = 0; i < RECORDS; i++) producer.send(new ProducerRecord<>(topic, i % PARTITIONS, null, "v" + i)).get(30, TimeUnit.SECONDS);
            }
            Member one = new Member(servers, topic, assignor, isStatic ? instances + 1 : "");
            until(() -> one.assigned.size() == 4, "one has all");
            Member two = new Member(servers, topic, assignor, isStatic ? instances + 2 : "");
            until(() -> one.assigned.size() == 2 && two.assigned.size() == 2, "each has half");
            until(() -> one.read.size() + two.read.size() >= RECORDS, "all was read");
            Set<Integer> had = new TreeSet<>(two.assigned);
            int revocations = one.revocations;
            two.close();
            if (isStatic) {
                Member again = new Member(servers, topic, assignor, instances + 2);
                until(() -> new TreeSet<>(again.assigned).equals(had), "it has what it had");
                System.out.println("more revocations " + (one.revocations - revocations));
                again.close();
            } else {
                until(() -> one.assigned.size() == 4, "one has all again");
            }
            ConsumerGroupDescription described = admin.describeConsumerGroups(List.of("java-" + topic)).all().get(30, TimeUnit.SECONDS).get("java-" + topic);
            System.out.println(described.state() + " " + described.partitionAssignor() + " " + described.members().size());
            one.close();
            Map<TopicPartition, OffsetAndMetadata> offsets = admin.listConsumerGroupOffsets("java-" + topic).partitionsToOffsetAndMetadata().get(30, TimeUnit.SECONDS);
            long total = 0;
            for (OffsetAndMetadata offset : offsets.values()) total += offset.offset();
            System.out.println("committed " + total);
        }
    }
}
