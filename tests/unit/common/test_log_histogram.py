"""The logarithmic buckets and their percentiles."""

from random import Random

from kafka_edu.common.log_histogram import (
    BUCKETS,
    Histogram,
    bucket_at,
    bucket_of,
    bucket_range,
    value_of,
)


def test_a_value_read_back_is_at_most_a_sixteenth_off() -> None:
    random = Random(5)
    for _ in range(5000):
        us = random.randrange(1 << random.randrange(1, 32))
        assert abs(value_of(bucket_of(us)) - us) <= us / 16


def test_buckets_grow_with_their_values_and_every_duration_has_one() -> None:
    values = sorted({*range(5000), *(1 << shift for shift in range(32)), (1 << 32) - 1})
    buckets = [bucket_of(us) for us in values]
    assert buckets == sorted(buckets)
    assert buckets[-1] == BUCKETS - 1
    assert bucket_of(1 << 50) == BUCKETS - 1
    assert bucket_of(-7) == 0
    assert len(set(map(value_of, range(BUCKETS)))) == BUCKETS


def test_percentiles_and_what_came_since() -> None:
    before = Histogram([(bucket_of(8), 90)])
    now = Histogram([(bucket_of(8), 99), (bucket_of(10_000), 1)])
    assert now.percentile_us(50) == 8
    assert now.percentile_us(99) == 8
    assert abs(now.percentile_us(99.9) - 10_000) < 625
    assert now.since(before).counts == {bucket_of(8): 9, bucket_of(10_000): 1}
    assert Histogram().percentile_us(99) == 0
    before.add(now.since(before))
    assert before.counts == now.counts


def test_each_bucket_of_each_scale_begins_where_the_one_before_ends() -> None:
    for sub_bits in (0, 3, 5):
        end = 0
        for bucket in range(300 if sub_bits else 30):
            first, values = bucket_range(bucket, sub_bits)
            assert first == end
            assert {bucket_at(first, sub_bits), bucket_at(first + values - 1, sub_bits)} == {bucket}
            end = first + values
    assert bucket_range(bucket_at(500, 5), 5) == (496, 8)
