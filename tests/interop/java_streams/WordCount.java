import java.time.Duration;
import java.util.*;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.*;
import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.state.Stores;

/**
 * Kafka Streams' word count, driven by tests/interop/test_kafka_streams.py: SERVERS INPUT APPLICATION GUARANTEE CODEC …
 *
 * One application for each codec, called APPLICATION-CODEC. It counts the words of INPUT into the topic
 * APPLICATION-CODEC-output, through a repartition topic and a store with a changelog. A line of standard output says which
 * input partitions the first application of this process has. The end of standard input closes all.
 */
public class WordCount {
    private static Topology topology(String input, String output) {
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(input, Consumed.with(Serdes.String(), Serdes.String()))
            .flatMapValues(line -> Arrays.asList(line.split(" ")))
            .groupBy((key, word) -> word, Grouped.<String, String>as("words").withKeySerde(Serdes.String()).withValueSerde(Serdes.String()))
            .count(Materialized.<String, Long>as(Stores.inMemoryKeyValueStore("counts")).withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()))
            .toStream()
            .mapValues(count -> Long.toString(count))
            .to(output, Produced.with(Serdes.String(), Serdes.String()));
        return builder.build();
    }

    private static void say(KafkaStreams streams, String input) {
        Set<Integer> partitions = new TreeSet<>();
        for (ThreadMetadata thread : streams.metadataForLocalThreads())
            for (TaskMetadata task : thread.activeTasks())
                task.topicPartitions().stream().filter(p -> p.topic().equals(input)).forEach(p -> partitions.add(p.partition()));
        System.out.println(partitions);
        System.out.flush();
    }

    public static void main(String[] arguments) throws Exception {
        String servers = arguments[0], input = arguments[1], application = arguments[2], guarantee = arguments[3];
        List<KafkaStreams> all = new ArrayList<>();
        for (String codec : Arrays.copyOfRange(arguments, 4, arguments.length)) {
            String id = application + "-" + codec;
            Properties settings = new Properties();
            settings.put(StreamsConfig.APPLICATION_ID_CONFIG, id);
            settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, servers);
            settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, guarantee);
            settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 100);
            settings.put(StreamsConfig.REPLICATION_FACTOR_CONFIG, 2);
            settings.put(StreamsConfig.STATE_DIR_CONFIG, java.nio.file.Files.createTempDirectory("word-count").toString());
            settings.put(StreamsConfig.producerPrefix("compression.type"), codec);
            settings.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
            settings.put(StreamsConfig.consumerPrefix("heartbeat.interval.ms"), 200);
            settings.put(StreamsConfig.consumerPrefix("session.timeout.ms"), 6000); // Streams leaves its group by time-out only
            KafkaStreams streams = new KafkaStreams(topology(input, id + "-output"), settings);
            if (all.isEmpty())
                streams.setStateListener((now, before) -> { if (now == KafkaStreams.State.RUNNING) say(streams, input); });
            all.add(streams);
        }
        all.forEach(KafkaStreams::start);
        while (System.in.read() >= 0) { }
        for (KafkaStreams streams : all)
            if (!streams.close(Duration.ofSeconds(60))) throw new IllegalStateException("the application did not close");
    }
}
