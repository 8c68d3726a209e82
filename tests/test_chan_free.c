/* test_chan_free.c: parties that have references to a channel send to it, receive from it and close
 * it, and leave. */
#include "support.h"

enum { ROUNDS = IN_SIM ? 1 : 200 / SCALE, PARTIES = 9 };

static _Atomic int sent, received, dropped;

static void note_drop(void *item)
{
    (void)item;
    atomic_fetch_add(&dropped, 1);
}

static int send_and_leave(void *ch)
{
    atomic_fetch_add(&sent, leat_send(ch, &(int){ 1 }) == 0);
    return leat_chan_unref(ch);
}

static int receive_and_leave(void *ch)
{
    for (int x; leat_recv(ch, &x) == 0;)
        atomic_fetch_add(&received, 1);
    return leat_chan_unref(ch);
}

static int close_and_leave(void *ch)
{
    CHECK_IS(0, leat_close(ch));
    return leat_chan_unref(ch);
}

/* The last party frees the channel, whichever it is, and each item that was sent is received or
 * dropped once. */
static int frees_amid_closing(void *arg)
{
    (void)arg;
    static leat_fn *const ways[] = { send_and_leave, receive_and_leave, close_and_leave };
    for (int round = 0; round < ROUNDS; round++) {
        struct crew crew;
        leat_chan *ch = leat_chan_open(NULL, &(leat_chan_spec){ .item_size = sizeof(int),
                                                                .capacity = (size_t)(round % 3),
                                                                .drop = note_drop });
        crew_open(&crew);
        for (int i = 1; i < PARTIES; i++)
            CHECK_IS(0, leat_chan_ref(ch));
        for (int i = 0; i < PARTIES; i++)
            crew_go(&crew, kind_of(i / 3 + round), ways[(i + round / 3) % 3], ch);
        crew_close(&crew);
        CHECK_IS(atomic_exchange(&sent, 0),
                 atomic_exchange(&received, 0) + atomic_exchange(&dropped, 0));
    }
    return 0;
}
ON_WORKERS(frees_amid_closing);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(frees_amid_closing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
