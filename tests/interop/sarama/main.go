// sarama, driven by tests/interop/test_client_go.py: ABILITY SERVERS TOPIC …, prints JSON (see client_contract.py).
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

const (
	firstTime = 1600000000000
	patience  = 60 * time.Second
)

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

func newConfig() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.V2_8_0_0
	config.Producer.Return.Successes = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Flush.Frequency = 20 * time.Millisecond
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Group.Heartbeat.Interval = 200 * time.Millisecond
	config.Metadata.AllowAutoTopicCreation = false
	return config
}

func produce(servers []string, topic string, count int, codec string) any {
	config := newConfig()
	check(config.Producer.Compression.UnmarshalText([]byte(codec)))
	producer, err := sarama.NewSyncProducer(servers, config)
	check(err)
	messages := make([]*sarama.ProducerMessage, count)
	for i := range messages {
		messages[i] = &sarama.ProducerMessage{
			Topic:     topic,
			Key:       sarama.StringEncoder(fmt.Sprintf("k%d", i)),
			Value:     sarama.StringEncoder(fmt.Sprintf("value %d %s", i, strings.Repeat("x", 100))),
			Headers:   []sarama.RecordHeader{{Key: []byte("made-by"), Value: []byte("test")}},
			Timestamp: time.UnixMilli(firstTime + int64(i)),
		}
	}
	check(producer.SendMessages(messages))
	check(producer.Close())
	return count
}

func consume(servers []string, topic string, count int) any {
	consumer, err := sarama.NewConsumer(servers, newConfig())
	check(err)
	partitions, err := consumer.Partitions(topic)
	check(err)
	all := make(chan *sarama.ConsumerMessage)
	for _, partition := range partitions {
		one, err := consumer.ConsumePartition(topic, partition, sarama.OffsetOldest)
		check(err)
		go func() {
			for message := range one.Messages() {
				all <- message
			}
		}()
	}
	read := [][]any{}
	for len(read) < count {
		select {
		case m := <-all:
			read = append(read, []any{m.Partition, m.Offset, string(m.Key), string(m.Value)})
		case <-time.After(patience):
			check(fmt.Errorf("only %d records came", len(read)))
		}
	}
	return read
}

// member is one of a group; it joins again whenever the group rebalances.
type member struct {
	mutex      sync.Mutex
	partitions int
	values     map[string]bool
	group      sarama.ConsumerGroup
}

func (m *member) Setup(session sarama.ConsumerGroupSession) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.partitions = 0
	for _, claimed := range session.Claims() {
		m.partitions += len(claimed)
	}
	return nil
}

func (m *member) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (m *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case message, open := <-claim.Messages():
			if !open {
				return nil
			}
			m.mutex.Lock()
			m.values[string(message.Value)] = true
			m.mutex.Unlock()
			session.MarkMessage(message, "")
		case <-session.Context().Done():
			return nil
		}
	}
}

func (m *member) has() (int, int) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.partitions, len(m.values)
}

func newMember(servers []string, topic, name string) *member {
	group, err := sarama.NewConsumerGroup(servers, name, newConfig())
	check(err)
	m := &member{values: map[string]bool{}, group: group}
	go func() {
		for group.Consume(context.Background(), []string{topic}, m) == nil {
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

func join(servers []string, topic, group string, count int) any {
	first := newMember(servers, topic, group)
	waitFor("everything", func() bool { p, v := first.has(); return p == 4 && v == count })
	second := newMember(servers, topic, group)
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
	sort.Strings(values)
	return []any{4, []int{2, 2}, 4, values}
}

func offsets(servers []string, topic, group string) any {
	client, err := sarama.NewClient(servers, newConfig())
	check(err)
	manager, err := sarama.NewOffsetManagerFromClient(group, client)
	check(err)
	partition, err := manager.ManagePartition(topic, 0)
	check(err)
	partition.MarkOffset(4, "")
	manager.Commit()
	check(partition.Close())
	check(manager.Close())
	admin, err := sarama.NewClusterAdminFromClient(client)
	check(err)
	fetched, err := admin.ListConsumerGroupOffsets(group, map[string][]int32{topic: {0}})
	check(err)
	found := []int64{fetched.GetBlock(topic, 0).Offset}
	for _, at := range []int64{sarama.OffsetOldest, sarama.OffsetNewest, firstTime + 3} {
		offset, err := client.GetOffset(topic, 0, at)
		check(err)
		found = append(found, offset)
	}
	return found
}

func topics(servers []string, topic string) any {
	admin, err := sarama.NewClusterAdmin(servers, newConfig())
	check(err)
	retention := "3600000"
	check(admin.CreateTopic(topic, &sarama.TopicDetail{
		NumPartitions: 3, ReplicationFactor: 2, ConfigEntries: map[string]*string{"retention.ms": &retention},
	}, false))
	partitions := 0
	waitFor("the topic", func() bool {
		described, err := admin.DescribeTopics([]string{topic})
		check(err)
		partitions = len(described[0].Partitions)
		return described[0].Err == sarama.ErrNoError
	})
	var entries []sarama.ConfigEntry
	waitFor("the topic's config", func() bool { // any broker may be asked, and each hears of a topic in its own time
		entries, err = admin.DescribeConfig(sarama.ConfigResource{Type: sarama.TopicResource, Name: topic, ConfigNames: []string{"retention.ms"}})
		var unknown *sarama.DescribeConfigError
		if errors.As(err, &unknown) && unknown.Err == sarama.ErrUnknownTopicOrPartition {
			return false
		}
		check(err)
		return true
	})
	check(admin.DeleteTopic(topic))
	waitFor("the end of the topic", func() bool {
		listed, err := admin.ListTopics()
		check(err)
		_, there := listed[topic]
		return !there
	})
	return []any{partitions, entries[0].Value, true}
}

func main() {
	ability, servers, topic, rest := os.Args[1], strings.Split(os.Args[2], ","), os.Args[3], os.Args[4:]
	var result any
	switch ability {
	case "produce":
		result = produce(servers, topic, number(rest[0]), rest[1])
	case "consume":
		result = consume(servers, topic, number(rest[0]))
	case "join":
		result = join(servers, topic, rest[0], number(rest[1]))
	case "offsets":
		result = offsets(servers, topic, rest[0])
	case "topics":
		result = topics(servers, topic)
	default:
		check(fmt.Errorf("no ability %s", ability))
	}
	check(json.NewEncoder(os.Stdout).Encode(result))
}
