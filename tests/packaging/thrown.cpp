// Tasks throw and catch while they move between threads; a destructor waits while an exception
// unwinds the stack, pinned as leat/task.h says.
#include <leat/leat.h>

#include <atomic>
#include <cstdio>
#include <exception>
#include <stdexcept>

static std::atomic<int> wrong;

static void compute()
{
    for (volatile int i = 0; i < 10000; i = i + 1) {
    }
}

struct waits_at_the_end {
    ~waits_at_the_end()
    {
        leat_pin();
        leat_sleep(10 * LEAT_US);
        leat_unpin();
    }
};

static void receive_below(leat_chan *ch, int depth)
{
    waits_at_the_end guard;
    if (depth > 0)
        return receive_below(ch, depth - 1);
    int n;
    if (leat_recv(ch, &n) != 0)
        throw std::runtime_error("closed");
    compute();
    throw n;
}

static int take(void *ch)
{
    for (;;) {
        volatile int before = 7;
        try {
            receive_below(static_cast<leat_chan *>(ch), 2);
            wrong++;
        } catch (int n) {
            wrong += n < 0 || before != 7;
        } catch (const std::exception &) {
            return 0;
        }
        compute();
    }
}

static int look(void *)
{
    compute();
    wrong += std::uncaught_exceptions() != 0;
    return 0;
}

static int run(void *)
{
    leat_scope *takers = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_of(takers, int, 0);
    for (int i = 0; i < 20; i++)
        leat_go(takers, take, ch);
    for (int n = 0; n < 2000; n++)
        leat_send(ch, &n);
    leat_close(ch);
    int verdict = leat_scope_close(takers);
    leat_scope *lookers = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < 100; i++)
        leat_go(lookers, look, nullptr);
    return verdict | leat_scope_close(lookers);
}

int main()
{
    leat_options options{};
    options.workers = 4;
    int verdict = leat_main_with(run, nullptr, &options);
    std::printf("%d wrong\n", wrong.load());
    return verdict;
}
