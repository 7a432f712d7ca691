// kafka-go, driven by tests/interop/test_client_go.py: ABILITY SERVERS TOPIC …, prints JSON (see client_contract.py).
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
)

const (
	firstTime = 1600000000000
	patience  = 60 * time.Second
)

var codecs = map[string]kafka.Compression{
	"none": 0, "gzip": kafka.Gzip, "snappy": kafka.Snappy, "lz4": kafka.Lz4, "zstd": kafka.Zstd,
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	check(err)
	return n
}

func newClient(servers []string) *kafka.Client {
	return &kafka.Client{Addr: kafka.TCP(servers...), Timeout: patience}
}

func produce(ctx context.Context, servers []string, topic string, count int, codec string) any {
	writer := &kafka.Writer{
		Addr: kafka.TCP(servers...), Topic: topic, RequiredAcks: kafka.RequireAll, Balancer: &kafka.Hash{},
		Compression: codecs[codec], BatchTimeout: 20 * time.Millisecond,
	}
	messages := make([]kafka.Message, count)
	for i := range messages {
		messages[i] = kafka.Message{
			Key:     []byte(fmt.Sprintf("k%d", i)),
			Value:   []byte(fmt.Sprintf("value %d %s", i, strings.Repeat("x", 100))),
			Headers: []kafka.Header{{Key: "made-by", Value: []byte("test")}},
			Time:    time.UnixMilli(firstTime + int64(i)),
		}
	}
	check(writer.WriteMessages(ctx, messages...))
	check(writer.Close())
	return count
}

func partitionsOf(ctx context.Context, servers []string, topic string) []kafka.Partition {
	metadata, err := newClient(servers).Metadata(ctx, &kafka.MetadataRequest{Topics: []string{topic}})
	check(err)
	check(metadata.Topics[0].Error)
	return metadata.Topics[0].Partitions
}

// readPartition hands each record from an offset on to take, until ctx or the group's generation ends.
func readPartition(ctx context.Context, servers []string, topic string, partition int, offset int64, take func(kafka.Message)) {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: servers, Topic: topic, Partition: partition, MinBytes: 1, MaxBytes: 1 << 20, MaxWait: 100 * time.Millisecond,
	})
	defer reader.Close()
	check(reader.SetOffset(offset))
	for {
		message, err := reader.ReadMessage(ctx)
		if errors.Is(err, context.Canceled) || errors.Is(err, kafka.ErrGenerationEnded) {
			return
		}
		check(err)
		take(message)
	}
}

func consume(ctx context.Context, servers []string, topic string, count int) any {
	all := make(chan kafka.Message)
	for _, partition := range partitionsOf(ctx, servers, topic) {
		go readPartition(ctx, servers, topic, partition.ID, kafka.FirstOffset, func(m kafka.Message) { all <- m })
	}
	read := [][]any{}
	for len(read) < count {
		select {
		case m := <-all:
			read = append(read, []any{m.Partition, m.Offset, string(m.Key), string(m.Value)})
		case <-ctx.Done():
			check(fmt.Errorf("only %d records came", len(read)))
		}
	}
	return read
}

// member is one of a group; it takes part in one generation after the other.
type member struct {
	mutex      sync.Mutex
	partitions int
	values     map[string]bool
	group      *kafka.ConsumerGroup
}

func (m *member) has() (int, int) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.partitions, len(m.values)
}

func (m *member) take(message kafka.Message) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.values[string(message.Value)] = true
}

func newMember(ctx context.Context, servers []string, topic, name string) *member {
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: name, Brokers: servers, Topics: []string{topic}, HeartbeatInterval: 200 * time.Millisecond,
		StartOffset: kafka.FirstOffset,
	})
	check(err)
	m := &member{values: map[string]bool{}, group: group}
	go func() {
		for {
			generation, err := group.Next(ctx)
			if errors.Is(err, kafka.ErrGroupClosed) || ctx.Err() != nil {
				return
			}
			if err != nil { // there is no coordinator yet, say: the next call tries again
				continue
			}
			assigned := generation.Assignments[topic]
			m.mutex.Lock()
			m.partitions = len(assigned)
			m.mutex.Unlock()
			for _, each := range assigned {
				partition, offset := each.ID, each.Offset
				generation.Start(func(ctx context.Context) {
					readPartition(ctx, servers, topic, partition, offset, m.take)
				})
			}
		}
	}()
	return m
}

func waitFor(what string, condition func() bool) {
	for end := time.Now().Add(patience); !condition(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			check(fmt.Errorf("%s did not come", what))
		}
	}
}

func join(ctx context.Context, servers []string, topic, group string, count int) any {
	first := newMember(ctx, servers, topic, group)
	waitFor("everything", func() bool { p, v := first.has(); return p == 4 && v == count })
	second := newMember(ctx, servers, topic, group)
	waitFor("a half each", func() bool {
		p, _ := first.has()
		q, _ := second.has()
		return p == 2 && q == 2
	})
	check(first.group.Close())
	waitFor("the rest", func() bool { q, _ := second.has(); return q == 4 })
	check(second.group.Close())
	values := []string{}
	for value := range first.values {
		values = append(values, value)
	}
	return []any{4, []int{2, 2}, 4, values}
}

func offsets(ctx context.Context, servers []string, topic, group string) any {
	client := newClient(servers)
	// Only a coordinator that is known answers; kafka-go itself asks again while there is none yet.
	waitFor("the group's coordinator", func() bool {
		done, err := client.OffsetCommit(ctx, &kafka.OffsetCommitRequest{
			GroupID: group, GenerationID: -1, Topics: map[string][]kafka.OffsetCommit{topic: {{Partition: 0, Offset: 4}}},
		})
		return err == nil && done.Topics[topic][0].Error == nil
	})
	fetched, err := client.OffsetFetch(ctx, &kafka.OffsetFetchRequest{GroupID: group, Topics: map[string][]int{topic: {0}}})
	check(err)
	found := []int64{fetched.Topics[topic][0].CommittedOffset}
	listed, err := client.ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{
		topic: {kafka.FirstOffsetOf(0), kafka.LastOffsetOf(0), kafka.TimeOffsetOf(0, time.UnixMilli(firstTime+3))},
	}})
	check(err)
	of := listed.Topics[topic][0]
	check(of.Error)
	found = append(found, of.FirstOffset, of.LastOffset)
	for offset := range of.Offsets {
		found = append(found, offset)
	}
	return found
}

func topics(ctx context.Context, servers []string, topic string) any {
	client := newClient(servers)
	created, err := client.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{{
		Topic: topic, NumPartitions: 3, ReplicationFactor: 2,
		ConfigEntries: []kafka.ConfigEntry{{ConfigName: "retention.ms", ConfigValue: "3600000"}},
	}}})
	check(err)
	check(created.Errors[topic])
	partitions := 0
	waitFor("the topic", func() bool { // any broker may be asked, and each hears of a topic in its own time
		metadata, err := client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{topic}})
		check(err)
		partitions = len(metadata.Topics[0].Partitions)
		return metadata.Topics[0].Error == nil
	})
	found := ""
	waitFor("the topic's config", func() bool {
		described, err := client.DescribeConfigs(ctx, &kafka.DescribeConfigsRequest{Resources: []kafka.DescribeConfigRequestResource{
			{ResourceType: kafka.ResourceTypeTopic, ResourceName: topic, ConfigNames: []string{"retention.ms"}},
		}})
		check(err)
		if described.Resources[0].Error != nil {
			return false
		}
		found = described.Resources[0].ConfigEntries[0].ConfigValue
		return true
	})
	deleted, err := client.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{topic}})
	check(err)
	check(deleted.Errors[topic])
	waitFor("the end of the topic", func() bool {
		metadata, err := client.Metadata(ctx, &kafka.MetadataRequest{})
		check(err)
		for _, each := range metadata.Topics {
			if each.Name == topic {
				return false
			}
		}
		return true
	})
	return []any{partitions, found, true}
}

func main() {
	ability, servers, topic, rest := os.Args[1], strings.Split(os.Args[2], ","), os.Args[3], os.Args[4:]
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var result any
	switch ability {
	case "produce":
		result = produce(ctx, servers, topic, number(rest[0]), rest[1])
	case "consume":
		result = consume(ctx, servers, topic, number(rest[0]))
	case "join":
		result = join(ctx, servers, topic, rest[0], number(rest[1]))
	case "offsets":
		result = offsets(ctx, servers, topic, rest[0])
	case "topics":
		result = topics(ctx, servers, topic)
	default:
		check(fmt.Errorf("no ability %s", ability))
	}
	check(json.NewEncoder(os.Stdout).Encode(result))
}
