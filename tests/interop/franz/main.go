// franz-go, driven by tests/interop/test_client_go.py: ABILITY SERVERS TOPIC …, prints JSON (see client_contract.py).
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	firstTime = 1600000000000
	patience  = 60 * time.Second
)

var codecs = map[string]kgo.CompressionCodec{
	"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
	"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
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

func newClient(servers []string, options ...kgo.Opt) *kgo.Client {
	client, err := kgo.NewClient(append(options, kgo.SeedBrokers(servers...))...)
	check(err)
	return client
}

func produce(ctx context.Context, servers []string, topic string, count int, codec string) any {
	client := newClient(servers, kgo.ProducerBatchCompression(codecs[codec]), kgo.ProducerLinger(20*time.Millisecond))
	defer client.Close()
	records := make([]*kgo.Record, count)
	for i := range records {
		records[i] = &kgo.Record{
			Topic:     topic,
			Key:       []byte(fmt.Sprintf("k%d", i)),
			Value:     []byte(fmt.Sprintf("value %d %s", i, strings.Repeat("x", 100))),
			Headers:   []kgo.RecordHeader{{Key: "made-by", Value: []byte("test")}},
			Timestamp: time.UnixMilli(firstTime + int64(i)),
		}
	}
	check(client.ProduceSync(ctx, records...).FirstErr())
	return count
}

func consume(ctx context.Context, servers []string, topic string, count int) any {
	client := newClient(servers, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	defer client.Close()
	read := [][]any{}
	for len(read) < count {
		fetches := client.PollFetches(ctx)
		check(fetches.Err())
		fetches.EachRecord(func(r *kgo.Record) {
			read = append(read, []any{r.Partition, r.Offset, string(r.Key), string(r.Value)})
		})
	}
	return read
}

// member is one of a group; franz-go joins again by itself whenever the group rebalances.
type member struct {
	mutex      sync.Mutex
	partitions int
	values     map[string]bool
	client     *kgo.Client
}

func (m *member) change(by int, of map[string][]int32) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for _, partitions := range of {
		m.partitions += by * len(partitions)
	}
}

func (m *member) has() (int, int) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.partitions, len(m.values)
}

func newMember(ctx context.Context, servers []string, topic, group string) *member {
	m := &member{values: map[string]bool{}}
	lost := func(_ context.Context, _ *kgo.Client, of map[string][]int32) { m.change(-1, of) }
	m.client = newClient(servers,
		kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.HeartbeatInterval(200*time.Millisecond),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, of map[string][]int32) { m.change(1, of) }),
		kgo.OnPartitionsRevoked(lost), kgo.OnPartitionsLost(lost))
	go func() {
		for {
			fetches := m.client.PollFetches(ctx)
			if fetches.IsClientClosed() {
				return
			}
			m.mutex.Lock()
			fetches.EachRecord(func(r *kgo.Record) { m.values[string(r.Value)] = true })
			m.mutex.Unlock()
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
	first.client.Close()
	waitFor("the rest", func() bool { q, _ := second.has(); return q == 4 })
	second.client.Close()
	values := []string{}
	for value := range first.values {
		values = append(values, value)
	}
	return []any{4, []int{2, 2}, 4, values}
}

func offsets(ctx context.Context, servers []string, topic, group string) any {
	admin := kadm.NewClient(newClient(servers))
	defer admin.Close()
	committed := kadm.Offsets{}
	committed.AddOffset(topic, 0, 4, -1)
	check(admin.CommitAllOffsets(ctx, group, committed))
	fetched, err := admin.FetchOffsets(ctx, group)
	check(err)
	stored, _ := fetched.Lookup(topic, 0)
	begin, err := admin.ListStartOffsets(ctx, topic)
	check(err)
	end, err := admin.ListEndOffsets(ctx, topic)
	check(err)
	at, err := admin.ListOffsetsAfterMilli(ctx, firstTime+3, topic)
	check(err)
	found := []int64{stored.At}
	for _, listed := range []kadm.ListedOffsets{begin, end, at} {
		offset, _ := listed.Lookup(topic, 0)
		check(offset.Err)
		found = append(found, offset.Offset)
	}
	return found
}

func topics(ctx context.Context, servers []string, topic string) any {
	admin := kadm.NewClient(newClient(servers, kgo.MetadataMinAge(100*time.Millisecond)))
	defer admin.Close()
	retention := "3600000"
	_, err := admin.CreateTopic(ctx, 3, 2, map[string]*string{"retention.ms": &retention}, topic)
	check(err)
	partitions := 0
	waitFor("the topic", func() bool { // any broker may be asked, and each hears of a topic in its own time
		listed, err := admin.ListTopics(ctx, topic)
		check(err)
		partitions = len(listed[topic].Partitions)
		return listed[topic].Err == nil
	})
	found := ""
	waitFor("the topic's config", func() bool {
		described, err := admin.DescribeTopicConfigs(ctx, topic)
		check(err)
		for _, config := range described[0].Configs {
			if config.Key == "retention.ms" {
				found = config.MaybeValue()
			}
		}
		return described[0].Err == nil
	})
	_, err = admin.DeleteTopic(ctx, topic)
	check(err)
	waitFor("the end of the topic", func() bool {
		listed, err := admin.ListTopics(ctx)
		check(err)
		return !listed.Has(topic)
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
