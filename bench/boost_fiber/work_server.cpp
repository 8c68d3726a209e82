// A fiber accepts requests and starts another fiber for each. Measures the time of a request while
// 64 clients send one at a time each, and how long short requests take at a steady pace.
#include "work.hpp"

#include "../common/requests.h"

#include <atomic>
#include <memory>
#include <vector>

namespace fibers = boost::fibers;

static bench_requests kinds;

struct request {
    int64_t item;
    buffered *back;
};

static uint64_t serve_clients(int64_t n)
{
    // Never freed: when the client has its answer, the fiber that sent it may still be in push().
    static std::vector<std::unique_ptr<buffered>> backs;
    while (backs.size() < BENCH_CLIENTS)
        backs.push_back(std::make_unique<buffered>(2));
    fibers::buffered_channel<request> asked(BENCH_CLIENTS);
    std::vector<fibers::fiber> clients;
    std::atomic<int64_t> total(0);
    int64_t each = n / BENCH_CLIENTS;
    uint64_t start = bench_now();
    fibers::fiber acceptor([&] {
        for (request r; asked.pop(r) == success;)
            fibers::fiber([r] {
                r.back->push(r.item + bench_spend(bench_request_turns(&kinds, r.item)));
            }).detach();
    });
    for (int c = 0; c < BENCH_CLIENTS; c++)
        clients.emplace_back([&, c] {
            buffered &back = *backs[static_cast<size_t>(c)];
            item_t result = 0, sum = 0;
            for (int64_t i = each * c; i < each * (c + 1); i++) {
                asked.push(request{ i, &back });
                back.pop(result);
                sum += result;
            }
            total += sum;
        });
    for (auto &f : clients)
        f.join();
    uint64_t ns = bench_now() - start;
    asked.close();
    acceptor.join();
    bench_check("work_server", total, bench_sum(n));
    return ns;
}

static void serve_at_pace(const char *row)
{
    int64_t n;
    bench_arrival *all = bench_arrivals(&kinds, &n);
    std::atomic<int64_t> left(n);
    auto served = std::make_shared<fibers::promise<void>>();
    bench_arrivals_begin(all, n);
    for (int64_t i = 0; i < n; i++) {
        uint64_t now = bench_now();
        if (all[i].due > now)
            boost::this_fiber::sleep_for(std::chrono::nanoseconds(all[i].due - now));
        // Detached: a fiber that will be joined keeps its stack until then.
        fibers::fiber([&left, served, me = &all[i]] {
            bench_arrival_serve(me);
            if (--left == 0)
                served->set_value();
        }).detach();
    }
    served->get_future().wait();
    bench_arrivals_end(row, all, n);
}

void work_server(const char *row)
{
    kinds = bench_requests_of(row);
    int64_t n = bench_items(kinds.mean_ns, BENCH_REQUESTS_MULTIPLE);
    bench_items_run(row, serve_clients, n, BENCH_REQUESTS_MULTIPLE);
    serve_at_pace(row);
}
