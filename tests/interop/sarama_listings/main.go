// The Go listings of the seeds in their least form, driven by tests/interop/test_seed_listings.py: LISTING SERVERS ARGUMENT …
package main

import (
	"context"
	"fmt"
	"os"
	"sort"
	"strconv"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// admin: list, create, list, describe, delete, list.
func admin(servers []string, topic string) {
	client, err := sarama.NewClusterAdmin(servers, sarama.NewConfig())
	check(err)
	defer client.Close()
	list := func() {
		topics, err := client.ListTopics()
		check(err)
		names := []string{}
		for name := range topics {
			names = append(names, name)
		}
		sort.Strings(names)
		for _, name := range names {
			fmt.Printf("%s partitions=%d replicas=%d\n", name, topics[name].NumPartitions, topics[name].ReplicationFactor)
		}
		fmt.Println("--")
	}
	list()
	check(client.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: 1, ReplicationFactor: 1}, false))
	list()
	described, err := client.DescribeTopics([]string{topic})
	check(err)
	for _, t := range described {
		for _, p := range t.Partitions {
			fmt.Printf("%s error=%d internal=%t partition=%d leader=%d replicas=%v isr=%v\n", t.Name, t.Err, t.IsInternal, p.ID, p.Leader, p.Replicas, p.Isr)
		}
	}
	fmt.Println("--")
	check(client.DeleteTopic(topic))
	list()
}

// produce: an AsyncProducer with a manual partitioner, acks and retries as given; each success is told.
func produce(servers []string, topic string, partition, count, acks int, interceptors []sarama.ProducerInterceptor) {
	config := sarama.NewConfig()
	config.Producer.Return.Successes = true
	config.Producer.Return.Errors = true
	config.Producer.RequiredAcks = sarama.RequiredAcks(acks)
	config.Producer.Retry.Max = 8
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.Interceptors = interceptors
	producer, err := sarama.NewAsyncProducer(servers, config)
	check(err)
	defer producer.Close()
	for i := 0; i < count; i++ {
		producer.Input() <- &sarama.ProducerMessage{Topic: topic, Partition: int32(partition), Value: sarama.StringEncoder("message" + strconv.Itoa(i))}
		select {
		case message := <-producer.Successes():
			fmt.Printf("partition=%d offset=%d value=%s\n", message.Partition, message.Offset, message.Value)
		case err := <-producer.Errors():
			check(err)
		}
	}
}

// consume: one partition from an offset, -1 the newest, -2 the oldest.
func consume(servers []string, topic string, partition int, offset int64, count int) {
	consumer, err := sarama.NewConsumer(servers, sarama.NewConfig())
	check(err)
	defer consumer.Close()
	claimed, err := consumer.ConsumePartition(topic, int32(partition), offset)
	check(err)
	defer claimed.Close()
	fmt.Println("ready")
	for i := 0; i < count; i++ {
		message := <-claimed.Messages()
		fmt.Printf("value:%s,partition:%d,offset:%d\n", string(message.Value), message.Partition, message.Offset)
	}
}

type handler struct {
	want   int
	resets map[int32]int64
	got    int
	lock   sync.Mutex
	enough context.CancelFunc
}

func (h *handler) Setup(_ sarama.ConsumerGroupSession) error   { fmt.Println("setup"); return nil }
func (h *handler) Cleanup(_ sarama.ConsumerGroupSession) error { fmt.Println("cleanup"); return nil }

func (h *handler) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case message, ok := <-claim.Messages():
			if !ok {
				return nil
			}
			h.lock.Lock()
			fmt.Printf("partition=%d value=%s offset=%d\n", message.Partition, string(message.Value), message.Offset)
			h.got++
			if len(h.resets) > 0 { // only what has been marked can be reset
				session.MarkMessage(message, "")
			}
			if h.got == h.want {
				for partition, offset := range h.resets {
					session.ResetOffset(message.Topic, partition, offset, "")
				}
				session.Commit()
				h.enough()
			}
			h.lock.Unlock()
		case <-session.Context().Done():
			return nil
		}
	}
}

// group: a consumer group from the oldest record on, committing nothing but the given resets, if any.
func group(servers []string, topic, name string, want int, resets map[int32]int64, interceptors []sarama.ConsumerInterceptor) {
	config := sarama.NewConfig()
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Interceptors = interceptors
	members, err := sarama.NewConsumerGroup(servers, name, config)
	check(err)
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	h := &handler{want: want, resets: resets, enough: cancel}
	for ctx.Err() == nil {
		check(members.Consume(ctx, []string{topic}, h))
	}
	check(members.Close())
}

type said struct{ text string }

func (s said) OnSend(message *sarama.ProducerMessage) {
	content, _ := message.Value.Encode()
	fmt.Printf("%s %s\n", s.text, string(content))
}

func (s said) OnConsume(_ *sarama.ConsumerMessage) { fmt.Println(s.text) }

func number(text string) int {
	n, err := strconv.Atoi(text)
	check(err)
	return n
}

func main() {
	listing, servers, arguments := os.Args[1], []string{os.Args[2]}, os.Args[3:]
	switch listing {
	case "admin":
		admin(servers, arguments[0])
	case "produce":
		produce(servers, arguments[0], number(arguments[1]), number(arguments[2]), number(arguments[3]), nil)
	case "consume":
		consume(servers, arguments[0], number(arguments[1]), int64(number(arguments[2])), number(arguments[3]))
	case "group":
		resets := map[int32]int64{}
		for partition, offset := range arguments[3:] {
			resets[int32(partition)] = int64(number(offset))
		}
		group(servers, arguments[0], arguments[1], number(arguments[2]), resets, nil)
	case "intercepted-produce":
		produce(servers, arguments[0], 0, 2, 1, []sarama.ProducerInterceptor{said{"first"}, said{"second"}})
	case "intercepted-group":
		group(servers, arguments[0], arguments[1], number(arguments[2]), nil, []sarama.ConsumerInterceptor{said{"first"}, said{"second"}})
	}
}
