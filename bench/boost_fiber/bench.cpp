// Boost.Fiber's program of the benchmark. On one core, one thread runs the fibers in turn. On more
// cores, threads run them and steal from each other.
#include "work.hpp"

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace fibers = boost::fibers;

static std::atomic<item_t> total, received;

static uint64_t yield(int64_t n)
{
    total = 0;
    auto yield_often = [](int64_t times) {
        int64_t count = 0;
        for (int64_t i = 0; i < times; i++) {
            boost::this_fiber::yield();
            count++;
        }
        total += count;
    };
    uint64_t start = bench_now();
    fibers::fiber a(yield_often, n / 2), b(yield_often, n / 2);
    a.join();
    b.join();
    uint64_t ns = bench_now() - start;
    bench_check("yield", total, n);
    return ns;
}

static uint64_t pingpong(int64_t n)
{
    unbuffered there, back;
    uint64_t ns = 0;
    item_t item = 0;
    fibers::fiber echo([&] {
        item_t got;
        while (there.pop(got) == success)
            back.push(got + 1);
    });
    fibers::fiber me([&] {
        uint64_t start = bench_now();
        for (int64_t i = 0; i < n; i++) {
            there.push(item + 1);
            back.pop(item);
        }
        ns = bench_now() - start;
        there.close();
    });
    me.join();
    echo.join();
    bench_check("pingpong", item, 2 * n);
    return ns;
}

template <class Channel> static uint64_t stream(int64_t n, Channel &channel, int pairs)
{
    total = received = 0;
    std::vector<fibers::fiber> senders, receivers;
    int64_t each = n / pairs;
    uint64_t start = bench_now();
    for (int p = 0; p < pairs; p++)
        senders.emplace_back([&, p] {
            for (int64_t i = each * p; i < each * (p + 1); i++)
                channel.push(i);
        });
    for (int p = 0; p < pairs; p++)
        receivers.emplace_back([&] {
            item_t item, sum = 0, count = 0;
            for (; channel.pop(item) == success; count++)
                sum += item;
            total += sum;
            received += count;
        });
    for (auto &f : senders)
        f.join();
    channel.close();
    for (auto &f : receivers)
        f.join();
    uint64_t ns = bench_now() - start;
    bench_check("stream", received, n);
    bench_check("stream", total, bench_sum(n));
    return ns;
}

template <int pairs> static uint64_t stream_unbuffered(int64_t n)
{
    unbuffered channel;
    return stream(n, channel, pairs);
}

template <int pairs> static uint64_t stream_buffered(int64_t n)
{
    buffered channel(128);
    return stream(n, channel, pairs);
}

static uint64_t poll(int64_t n)
{
    buffered channel(128);
    item_t item, misses = 0;
    uint64_t start = bench_now();
    for (int64_t i = 0; i < n; i++)
        misses += channel.try_pop(item) == fibers::channel_op_status::empty;
    uint64_t ns = bench_now() - start;
    bench_check("poll_1", misses, n);
    return ns;
}

template <int together> static uint64_t spawn(int64_t n)
{
    total = 0;
    std::vector<fibers::fiber> all;
    all.reserve(together);
    uint64_t start = bench_now();
    for (int64_t i = 0; i < n; i += together) {
        for (int j = 0; j < together; j++)
            all.emplace_back([] { total++; });
        for (auto &f : all)
            f.join();
        all.clear();
    }
    uint64_t ns = bench_now() - start;
    bench_check("spawn", total, n);
    return ns;
}

static uint64_t ring(int64_t n)
{
    constexpr size_t members = 1000;
    std::vector<unbuffered> channels(members);
    unbuffered done;
    std::vector<fibers::fiber> all;
    total = 0;
    for (size_t i = 0; i < members; i++)
        all.emplace_back([&, i] {
            auto &in = channels[i], &out = channels[(i + 1) % members];
            item_t token, hops = 0;
            while (in.pop(token) == success && token > 0) {
                hops++;
                if (token == 1)
                    done.push(0);
                else
                    out.push(token - 1);
            }
            if (i != members - 1)
                out.push(token);
            total += hops;
        });
    item_t token;
    uint64_t start = bench_now();
    channels[0].push(n);
    done.pop(token);
    uint64_t ns = bench_now() - start;
    channels[0].push(-1);
    for (auto &f : all)
        f.join();
    bench_check("ring", total, n);
    return ns;
}

static uint64_t pipeline(int64_t n)
{
    constexpr int stages = 3;
    buffered first(64), second(64), third(64), last(64);
    buffered *channels[] = { &first, &second, &third, &last };
    std::vector<fibers::fiber> all;
    item_t sum = 0, count = 0, item;
    uint64_t start = bench_now();
    all.emplace_back([&] {
        for (int64_t i = 0; i < n; i++)
            first.push(i);
        first.close();
    });
    for (int i = 0; i < stages; i++)
        all.emplace_back([&channels, i] {
            item_t got;
            while (channels[i]->pop(got) == success)
                channels[i + 1]->push(got + 1);
            channels[i + 1]->close();
        });
    for (; last.pop(item) == success; count++)
        sum += item;
    uint64_t ns = bench_now() - start;
    for (auto &f : all)
        f.join();
    bench_check("pipeline", count, n);
    bench_check("pipeline", sum, bench_sum(n) + stages * n);
    return ns;
}

static const struct bench_row rows[] = {
    { "yield", 2, yield, nullptr, 0 },
    { "pingpong", 1, pingpong, nullptr, 0 },
    { "unbuffered_1to1", 1, stream_unbuffered<1>, nullptr, 0 },
    { "unbuffered_4to4", 4, stream_unbuffered<4>, nullptr, 0 },
    { "buffered_1to1", 1, stream_buffered<1>, nullptr, 0 },
    { "buffered_4to4", 4, stream_buffered<4>, nullptr, 0 },
    { "poll_1", 1, poll, nullptr, 0 },
    { "spawn_1", 1, spawn<1>, nullptr, 0 },
    { "spawn_1000", 1000, spawn<1000>, nullptr, 0 },
    { "ring", 1, ring, nullptr, 0 },
    { "pipeline", 1, pipeline, nullptr, 0 },
    { "work_fan_1us", 1, nullptr, work_fan, 0 },
    { "work_fan_5us", 1, nullptr, work_fan, 0 },
    { "work_fan_20us", 1, nullptr, work_fan, 0 },
    { "work_fan_100us", 1, nullptr, work_fan, 0 },
    { "work_fan_1000us", 1, nullptr, work_fan, 0 },
    { "work_crowd_1us", 1, nullptr, work_crowd, 0 },
    { "work_crowd_5us", 1, nullptr, work_crowd, 0 },
    { "work_crowd_20us", 1, nullptr, work_crowd, 0 },
    { "work_crowd_100us", 1, nullptr, work_crowd, 0 },
    { "work_crowd_1000us", 1, nullptr, work_crowd, 0 },
    { "work_chain_1us", 1, nullptr, work_chain, 0 },
    { "work_chain_5us", 1, nullptr, work_chain, 0 },
    { "work_chain_20us", 1, nullptr, work_chain, 0 },
    { "work_chain_100us", 1, nullptr, work_chain, 0 },
    { "work_chain_1000us", 1, nullptr, work_chain, 0 },
    { "work_ordered_1us", 1, nullptr, work_ordered, 0 },
    { "work_ordered_5us", 1, nullptr, work_ordered, 0 },
    { "work_ordered_20us", 1, nullptr, work_ordered, 0 },
    { "work_ordered_100us", 1, nullptr, work_ordered, 0 },
    { "work_ordered_1000us", 1, nullptr, work_ordered, 0 },
    { "work_server_1us", 1, nullptr, work_server, 0 },
    { "work_server_5us", 1, nullptr, work_server, 0 },
    { "work_server_20us", 1, nullptr, work_server, 0 },
    { "work_server_100us", 1, nullptr, work_server, 0 },
    { "work_server_1000us", 1, nullptr, work_server, 0 },
    { "hog", 1, nullptr, hog, 0 },
    { nullptr, 0, nullptr, nullptr, 0 },
};

int main(int argc, char **argv)
{
    auto threads = static_cast<uint32_t>(bench_env("BENCH_CORES", 1));
    if (argc < 2 || threads == 1)
        return bench_main(argc, argv, rows, bench_run);

    std::mutex lock;
    fibers::condition_variable_any changed;
    bool over = false;
    std::vector<std::thread> others;
    for (uint32_t i = 1; i < threads; i++)
        others.emplace_back([&] {
            fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(threads);
            std::unique_lock<std::mutex> held(lock);
            changed.wait(held, [&] { return over; });
        });
    fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(threads);
    int status = bench_main(argc, argv, rows, bench_run);
    lock.lock();
    over = true;
    lock.unlock();
    changed.notify_all();
    for (auto &t : others)
        t.join();
    return status;
}
