// Items that compute for a while, and sleepers beside a fiber that computes. The capacity of a
// buffered channel must be a power of two, and the channel holds one item less.
#include "work.hpp"

#include "../common/hog.h"

#include <atomic>
#include <memory>
#include <vector>

namespace fibers = boost::fibers;

int64_t bench_turns_an_item;

template <class Channel> static void feed(Channel &to, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to.push(i);
    to.close();
}

template <class Channel> static void pass(Channel &from, Channel &to)
{
    for (item_t item; from.pop(item) == success;)
        to.push(item + bench_compute());
}

template <class Channel> static void collect(const char *what, Channel &from, int64_t n)
{
    item_t item, sum = 0, count = 0;
    for (; from.pop(item) == success; count++)
        sum += item;
    bench_check(what, count, n);
    bench_check(what, sum, bench_sum(n));
}

// One fiber feeds, eight work, and the caller collects. Both channels are unbuffered.
static uint64_t fan(int64_t n)
{
    unbuffered in, out;
    std::vector<fibers::fiber> all;
    uint64_t start = bench_now();
    std::atomic<int> working(8);
    all.emplace_back([&] { feed(in, n); });
    for (int i = 0; i < 8; i++)
        all.emplace_back([&] {
            pass(in, out);
            if (--working == 0)
                out.close();
        });
    collect("work_fan", out, n);
    uint64_t ns = bench_now() - start;
    for (auto &f : all)
        f.join();
    return ns;
}

void work_fan(const char *row)
{
    bench_work(row, fan, 1, 1);
}

// 64 long-lived fibers, each with its own channel. In each round every fiber receives an item,
// and the caller waits for all results.
static uint64_t crowd(int64_t n)
{
    constexpr int members = 64;
    buffered out(members);
    std::vector<std::unique_ptr<buffered>> in;
    std::vector<fibers::fiber> all;
    item_t item = 0, got, sum = 0;
    for (int i = 0; i < members; i++) {
        in.push_back(std::make_unique<buffered>(2));
        all.emplace_back([&out, mine = in.back().get()] { pass(*mine, out); });
    }
    uint64_t start = bench_now();
    while (item < n) {
        for (auto &channel : in)
            channel->push(item++);
        for (int i = 0; i < members && out.pop(got) == success; i++)
            sum += got;
    }
    uint64_t ns = bench_now() - start;
    for (auto &channel : in)
        channel->close();
    for (auto &f : all)
        f.join();
    bench_check("work_crowd", sum, bench_sum(n));
    return ns;
}

void work_crowd(const char *row)
{
    bench_work(row, crowd, 1, 64);
}

static uint64_t chain(int64_t n)
{
    buffered first(16), second(16), third(16), last(16);
    buffered *channels[] = { &first, &second, &third, &last };
    std::vector<fibers::fiber> all;
    uint64_t start = bench_now();
    all.emplace_back([&] { feed(first, n); });
    for (int i = 0; i < 3; i++)
        all.emplace_back([&channels, i] {
            pass(*channels[i], *channels[i + 1]);
            channels[i + 1]->close();
        });
    collect("work_chain", last, n);
    uint64_t ns = bench_now() - start;
    for (auto &f : all)
        f.join();
    return ns;
}

void work_chain(const char *row)
{
    bench_work(row, chain, 3, 1);
}

// A fiber for each item, eight at a time; the results stay in order.
static uint64_t ordered(int64_t n)
{
    fibers::buffered_channel<fibers::future<item_t>> slots(8);
    uint64_t start = bench_now();
    fibers::fiber feeder([&] {
        for (int64_t i = 0; i < n; i++)
            slots.push(fibers::async([i] { return i + bench_compute(); }));
        slots.close();
    });
    int64_t count = 0;
    for (fibers::future<item_t> slot; slots.pop(slot) == success; count++)
        bench_check("work_ordered", slot.get(), count);
    uint64_t ns = bench_now() - start;
    feeder.join();
    bench_check("work_ordered", count, n);
    return ns;
}

void work_ordered(const char *row)
{
    bench_work(row, ordered, 1, 1);
}

// How late do a hundred sleepers wake beside a fiber that computes for a second?
void hog(const char *row)
{
    std::vector<bench_sleeper> sleepers(BENCH_SLEEPERS);
    std::vector<fibers::fiber> all;
    bench_sleepers_begin(sleepers.data());
    for (auto &me : sleepers)
        all.emplace_back([&me] {
            do
                boost::this_fiber::sleep_for(std::chrono::nanoseconds(BENCH_NAP_NS));
            while (bench_sleeper_woke(&me));
        });
    all.emplace_back([&] { bench_hog(sleepers[0].end); });
    for (auto &f : all)
        f.join();
    bench_sleepers_end(row, sleepers.data());
}
