import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.common.TopicPartition;

/**
 * Reads groups, one a line: topics|member;instance;topics;generation;owned|... For each, prints the
 * partitions by range and by round robin, the moved partitions and the balance of sticky, and how
 * many partitions cooperative-sticky assigns.
 */
public class Assignors {
    public static void main(String[] args) throws Exception {
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            String[] parts = line.split("\\|");
            Map<String, Integer> topics = new HashMap<>();
            for (String topic : words(parts[0], ",")) {
                topics.put(topic.split(":")[0], Integer.parseInt(topic.split(":")[1]));
            }
            Map<TopicPartition, String> before = new HashMap<>();
            Map<String, Subscription> plain = new HashMap<>();
            Map<String, Subscription> sticky = new HashMap<>();
            Map<String, Subscription> cooperative = new HashMap<>();
            for (int i = 1; i < parts.length; i++) {
                String[] member = parts[i].split(";", -1);
                List<String> wants = words(member[2], ",");
                Map<String, List<Integer>> owned = new TreeMap<>();
                List<TopicPartition> ownedPartitions = new ArrayList<>();
                for (String tp : words(member[4], ",")) {
                    String topic = tp.split(":")[0];
                    int partition = Integer.parseInt(tp.split(":")[1]);
                    ownedPartitions.add(new TopicPartition(topic, partition));
                    owned.computeIfAbsent(topic, t -> new ArrayList<>()).add(partition);
                    if (wants.contains(topic) && partition < topics.getOrDefault(topic, 0)) {
                        before.put(new TopicPartition(topic, partition), member[0]);
                    }
                }
                ByteBuffer generation = ByteBuffer.allocate(4);
                generation.putInt(Integer.parseInt(member[3])).flip();
                cooperative.put(member[0], new Subscription(wants, generation, ownedPartitions));
                plain.put(member[0], subscription(wants, member[1], null));
                sticky.put(member[0], subscription(
                    wants, member[1], userData(owned, Integer.parseInt(member[3]))));
            }
            System.out.println(printed(new RangeAssignor().assign(topics, plain)));
            System.out.println(printed(new RoundRobinAssignor().assign(topics, plain)));
            Map<String, List<TopicPartition>> result = new StickyAssignor().assign(topics, sticky);
            int moved = 0;
            int balance = 0;
            List<Integer> counts = new ArrayList<>();
            for (Map.Entry<String, List<TopicPartition>> each : result.entrySet()) {
                for (TopicPartition tp : each.getValue()) {
                    String old = before.get(tp);
                    moved += old != null && !old.equals(each.getKey()) ? 1 : 0;
                }
                for (int other : counts) {
                    balance += Math.abs(other - each.getValue().size());
                }
                counts.add(each.getValue().size());
            }
            System.out.println(moved + " " + balance);
            int assigned = 0;
            for (List<TopicPartition> each :
                    new CooperativeStickyAssignor().assign(topics, cooperative).values()) {
                assigned += each.size();
            }
            System.out.println(assigned);
        }
    }

    private static List<String> words(String text, String separator) {
        return text.isEmpty() ? Collections.emptyList() : List.of(text.split(separator));
    }

    private static Subscription subscription(List<String> topics, String instance, ByteBuffer data) {
        Subscription made = new Subscription(topics, data);
        made.setGroupInstanceId(instance.isEmpty() ? Optional.empty() : Optional.of(instance));
        return made;
    }

    private static ByteBuffer userData(Map<String, List<Integer>> owned, int generation) {
        int size = 8;
        for (Map.Entry<String, List<Integer>> each : owned.entrySet()) {
            size += 6 + each.getKey().length() + 4 * each.getValue().size();
        }
        ByteBuffer data = ByteBuffer.allocate(size);
        data.putInt(owned.size());
        for (Map.Entry<String, List<Integer>> each : owned.entrySet()) {
            data.putShort((short) each.getKey().length());
            data.put(each.getKey().getBytes());
            data.putInt(each.getValue().size());
            each.getValue().forEach(data::putInt);
        }
        data.putInt(generation);
        data.flip();
        return data;
    }

    private static String printed(Map<String, List<TopicPartition>> assignment) {
        StringBuilder out = new StringBuilder();
        for (Map.Entry<String, List<TopicPartition>> each : new TreeMap<>(assignment).entrySet()) {
            List<String> names = new ArrayList<>();
            each.getValue().forEach(tp -> names.add(tp.topic() + ":" + tp.partition()));
            Collections.sort(names);
            out.append(each.getKey()).append('=').append(String.join(",", names)).append(';');
        }
        return out.toString();
    }
}
