// kafkajs, driven by tests/interop/test_client_kafkajs.py: ABILITY SERVERS TOPIC …, prints JSON (see client_contract.py).
// kafkajs brings gzip only; snappy, lz4 and zstd are plugged in as its documentation says.
'use strict'
const { Kafka, CompressionTypes, CompressionCodecs, logLevel } = require('kafkajs')
const lz4 = require('lz4-napi')
const zstd = require('@bokuweb/zstd-wasm')

const FIRST_TIME = 1600000000000
const PATIENCE_MS = 60000
CompressionCodecs[CompressionTypes.Snappy] = require('kafkajs-snappy')
CompressionCodecs[CompressionTypes.LZ4] = () => ({
  compress: async (encoder) => lz4.compressFrame(encoder.buffer),
  decompress: async (buffer) => lz4.decompressFrame(buffer),
})
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: async (encoder) => Buffer.from(zstd.compress(encoder.buffer)),
  decompress: async (buffer) => Buffer.from(zstd.decompress(buffer)),
})
const CODECS = {
  none: CompressionTypes.None,
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD,
}
const [, , ability, servers, topic, ...rest] = process.argv
const kafka = new Kafka({ clientId: 'kafkajs', brokers: servers.split(','), logLevel: logLevel.ERROR })
const delay = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const value = (i) => `value ${i} ${'x'.repeat(100)}`

async function waitFor(what, condition) {
  for (const end = Date.now() + PATIENCE_MS; !(await condition()); await delay(20)) {
    if (Date.now() > end) throw new Error(`${what} did not come`)
  }
}

function member(group, onMessage) {
  const consumer = kafka.consumer({ groupId: group, sessionTimeout: 10000, heartbeatInterval: 200, maxWaitTimeInMs: 200 })
  const state = { partitions: 0, consumer }
  consumer.on(consumer.events.GROUP_JOIN, (event) => (state.partitions = (event.payload.memberAssignment[topic] || []).length))
  state.start = async () => {
    await consumer.connect()
    await consumer.subscribe({ topic, fromBeginning: true })
    await consumer.run({ autoCommit: true, eachMessage: async ({ partition, message }) => onMessage(partition, message) })
  }
  return state
}

const abilities = {
  async produce(count, codec) {
    const producer = kafka.producer()
    await producer.connect()
    const messages = Array.from({ length: Number(count) }, (_, i) => ({
      key: `k${i}`,
      value: value(i),
      timestamp: String(FIRST_TIME + i),
      headers: { 'made-by': 'test' },
    }))
    await producer.send({ topic, acks: -1, compression: CODECS[codec], messages })
    await producer.disconnect()
    return messages.length
  },

  async consume(count) {
    const read = []
    const one = member(`${topic}-reader`, (partition, message) => {
      read.push([partition, Number(message.offset), message.key.toString(), message.value.toString()])
    })
    await one.start()
    await waitFor(`${count} records`, () => read.length >= Number(count))
    await one.consumer.disconnect()
    return read
  },

  async join(group, count) {
    const values = new Set()
    const keep = (_, message) => values.add(message.value.toString())
    const first = member(group, keep)
    await first.start()
    await waitFor('everything', () => first.partitions === 4 && values.size === Number(count))
    const second = member(group, keep)
    await second.start()
    await waitFor('a half each', () => first.partitions === 2 && second.partitions === 2)
    const both = [first.partitions, second.partitions]
    await first.consumer.disconnect()
    await waitFor('the rest', () => second.partitions === 4)
    await second.consumer.disconnect()
    return [4, both, second.partitions, [...values]]
  },

  async offsets(group) {
    const admin = kafka.admin()
    await admin.connect()
    await admin.setOffsets({ groupId: group, topic, partitions: [{ partition: 0, offset: '4' }] })
    const [{ partitions }] = await admin.fetchOffsets({ groupId: group, topics: [topic] })
    const [{ low, high }] = await admin.fetchTopicOffsets(topic)
    const [{ offset }] = await admin.fetchTopicOffsetsByTimestamp(topic, FIRST_TIME + 3)
    await admin.disconnect()
    return [partitions[0].offset, low, high, offset].map(Number)
  },

  async topics() {
    const admin = kafka.admin()
    await admin.connect()
    const configEntries = [{ name: 'retention.ms', value: '3600000' }]
    await admin.createTopics({ topics: [{ topic, numPartitions: 3, replicationFactor: 2, configEntries }] })
    const metadata = await admin.fetchTopicMetadata({ topics: [topic] })
    const described = await admin.describeConfigs({ resources: [{ type: 2, name: topic, configNames: ['retention.ms'] }] })
    const retention = described.resources[0].configEntries.find((entry) => entry.configName === 'retention.ms').configValue
    await admin.deleteTopics({ topics: [topic] })
    await waitFor('the end of the topic', async () => !(await admin.listTopics()).includes(topic))
    await admin.disconnect()
    return [metadata.topics[0].partitions.length, retention, true]
  },
}

zstd
  .init()
  .then(() => abilities[ability](...rest))
  .then((result) => {
    console.log(JSON.stringify(result))
    process.exit(0)
  })
  .catch((error) => {
    console.error(error)
    process.exit(1)
  })
