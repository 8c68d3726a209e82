/* test_chan_close.c: closing, counted senders, owners and references, the drop function. */
#include "support.h"

#include <limits.h>
#include <sys/wait.h>
#include <unistd.h>

struct end {
    leat_chan *ch;
    int number, result;
};

static int send_number(void *arg)
{
    struct end *end = arg;
    end->result = leat_send(end->ch, &end->number);
    return 0;
}

static int receive_number(void *arg)
{
    struct end *end = arg;
    end->result = leat_recv(end->ch, &end->number);
    return 0;
}

static int close_it(void *arg)
{
    CHECK_IS(0, leat_close(arg));
    return 0;
}

static int closed_channels_return_epipe(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    for (size_t capacity = 0; capacity <= 1; capacity++) {
        leat_chan *ch = leat_chan_of(s, int, capacity);
        int x = 3;
        CHECK_IS(0, leat_chan_closed(ch));
        for (int i = 0; i < 3; i++) {
            CHECK_IS(0, leat_close(ch));
            CHECK_IS(1, leat_chan_closed(ch));
        }
        CHECK_IS(-EPIPE, leat_send(ch, &x));
        CHECK_IS(-EPIPE, leat_send_until(ch, &x, LEAT_NOW));
        CHECK_IS(-EPIPE, leat_send_until(ch, &x, LEAT_NEVER));
        CHECK_IS(-EPIPE, leat_try_send(ch, &x));
        CHECK_IS(-EPIPE, leat_recv(ch, &x));
        CHECK_IS(-EPIPE, leat_recv(ch, NULL));
        CHECK_IS(-EPIPE, leat_recv_until(ch, &x, LEAT_NOW));
        CHECK_IS(-EPIPE, leat_recv_until(ch, &x, LEAT_NEVER));
        CHECK_IS(-EPIPE, leat_try_recv(ch, &x));
        CHECK_IS(3, x);
        /* Wrong arguments come before -EPIPE. */
        CHECK_IS(-EINVAL, leat_send(ch, NULL));
        CHECK_IS(-EINVAL, leat_recv_until(ch, &x, -5));
    }
    return leat_scope_close(s);
}
ON_WORKERS(closed_channels_return_epipe);

static int drains_first(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_of(s, int, 4);
    for (int i = 0; i < 4; i++)
        CHECK_IS(0, leat_send(ch, &i));
    CHECK_IS(0, leat_close(ch));
    int x;
    CHECK_IS(-EPIPE, leat_try_send(ch, &x));
    CHECK_IS(4, leat_chan_len(ch));
    CHECK_IS(0, leat_recv(ch, &x));
    CHECK_IS(0, x);
    CHECK_IS(0, leat_try_recv(ch, &x));
    CHECK_IS(1, x);
    CHECK_IS(0, leat_recv_until(ch, &x, LEAT_NOW));
    CHECK_IS(2, x);
    CHECK_IS(0, leat_recv_until(ch, &x, leat_after(LEAT_S)));
    CHECK_IS(3, x);
    CHECK_IS(-EPIPE, leat_recv(ch, &x));
    CHECK_IS(0, leat_chan_len(ch));
    CHECK_IS(3, x);
    return leat_scope_close(s);
}
ON_WORKERS(drains_first);

/* Closing wakes all waiting parties. Senders keep their items, and receivers get nothing. */
static int wakes_all(void *arg)
{
    (void)arg;
    enum { WAITING = 12 };
    for (int sending = 0; sending <= 1; sending++) {
        for (enum kind closer = TASK; closer < KINDS; closer++) {
            struct crew crew;
            crew_open(&crew);
            leat_chan *ch = leat_chan_of(crew.scope, int, 2);
            struct end ends[WAITING];
            for (int i = 0; i < 2 && sending; i++)
                CHECK_IS(0, leat_send(ch, &i));
            for (int i = 0; i < WAITING; i++) {
                ends[i] = (struct end){ ch, 100 + i, 1 };
                crew_go(&crew, kind_of(i), sending ? send_number : receive_number, &ends[i]);
            }
            WAIT_UNTIL((sending ? senders_of(ch) : receivers_of(ch)) == WAITING);
            crew_go(&crew, closer, close_it, ch);
            for (int i = 0, x; i < 2 && sending; i++) {
                WAIT_UNTIL(leat_chan_closed(ch));
                CHECK_IS(0, leat_recv(ch, &x));
                CHECK_IS(i, x);
            }
            CHECK_IS(-EPIPE, leat_recv(ch, NULL));
            crew_close(&crew);
            for (int i = 0; i < WAITING; i++) {
                CHECK_IS(-EPIPE, ends[i].result);
                CHECK_IS(100 + i, ends[i].number);
            }
        }
    }
    return 0;
}
ON_WORKERS(wakes_all);

/* Two parties close a channel while others send and receive. Each sender and
 * receiver stops with -EPIPE, and as many items are received as were sent. */
struct busy {
    leat_chan *ch;
    int moved;
};

static int send_until_closed(void *arg)
{
    struct busy *busy = arg;
    int err;
    while ((err = leat_send(busy->ch, &busy->moved)) == 0)
        busy->moved++;
    CHECK_IS(-EPIPE, err);
    return 0;
}

static int receive_until_closed(void *arg)
{
    struct busy *busy = arg;
    int x, err;
    while ((err = leat_recv(busy->ch, &x)) == 0)
        busy->moved++;
    CHECK_IS(-EPIPE, err);
    return 0;
}

static int closes_amid_traffic(void *arg)
{
    (void)arg;
    for (int round = 0; round < 120 / SCALE; round++) {
        struct crew crew;
        crew_open(&crew);
        leat_chan *ch = leat_chan_of(crew.scope, int, (size_t)(round % 3));
        struct busy out[3] = { { 0 } }, in[3] = { { 0 } };
        for (int i = 0; i < 3; i++) {
            out[i].ch = in[i].ch = ch;
            crew_go(&crew, kind_of(i + round), send_until_closed, &out[i]);
            crew_go(&crew, kind_of(i + round / 3), receive_until_closed, &in[i]);
        }
        for (int i = 0; i < round; i++)
            leat_yield();
        crew_go(&crew, kind_of(round), close_it, ch);
        crew_go(&crew, kind_of(round + 1), close_it, ch);
        crew_close(&crew);
        CHECK_IS(out[0].moved + out[1].moved + out[2].moved,
                 in[0].moved + in[1].moved + in[2].moved);
    }
    return 0;
}
ON_WORKERS(closes_amid_traffic);

static int counts_senders(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_of(s, int, 1);
    CHECK_IS(-EINVAL, leat_chan_done(ch));
    CHECK_IS(-EINVAL, leat_chan_senders(ch, 0));
    CHECK_IS(0, leat_chan_senders(ch, 2));
    CHECK_IS(0, leat_chan_done(ch));
    CHECK_IS(0, leat_chan_senders(ch, 1));
    CHECK_IS(-EINVAL, leat_chan_senders(ch, UINT_MAX));
    CHECK_IS(0, leat_chan_done(ch));
    CHECK_IS(0, leat_chan_closed(ch));
    int x = 9;
    CHECK_IS(0, leat_send(ch, &x));
    CHECK_IS(0, leat_chan_done(ch));
    CHECK_IS(1, leat_chan_closed(ch));
    CHECK_IS(-EINVAL, leat_chan_done(ch));
    CHECK_IS(-EPIPE, leat_chan_senders(ch, 1));
    CHECK_IS(0, leat_recv(ch, &x));
    CHECK_IS(-EPIPE, leat_recv(ch, &x));

    ch = leat_chan_of(s, int, 0);
    CHECK_IS(0, leat_chan_senders(ch, 3));
    CHECK_IS(0, leat_close(ch));
    CHECK_IS(-EPIPE, leat_chan_senders(ch, 3));
    for (int i = 0; i < 3; i++)
        CHECK_IS(0, leat_chan_done(ch));
    CHECK_IS(-EINVAL, leat_chan_done(ch));
    return leat_scope_close(s);
}
ON_WORKERS(counts_senders);

/* How often each number was dropped. */
enum { NUMBERS = 64 };
static _Atomic int dropped[NUMBERS];

static void note_drop(void *item)
{
    int x;
    memcpy(&x, item, sizeof x);
    CHECK(x >= 0 && x < NUMBERS);
    atomic_fetch_add(&dropped[x], 1);
}

static leat_chan *open_noting(leat_scope *scope, size_t capacity)
{
    return leat_chan_open(scope, &(leat_chan_spec){ .item_size = sizeof(int),
                                                    .capacity = capacity,
                                                    .drop = note_drop,
                                                    .name = "noting" });
}

/* Each number from `low` to below `high` was dropped once, and no other. Resets the counts. */
static void check_dropped(int low, int high)
{
    for (int i = 0; i < NUMBERS; i++)
        CHECK_IS(i >= low && i < high, atomic_exchange(&dropped[i], 0));
}

static int drops_what_is_left(void *arg)
{
    (void)arg;
    for (int closed = 0; closed <= 1; closed++) {
        for (int counted = 0; counted <= 1; counted++) {
            leat_scope *s = leat_scope_open(LEAT_NEVER);
            leat_chan *ch = open_noting(counted ? NULL : s, 8);
            int x;
            /* The buffer wraps: 0 to 2 are received, 3 to 10 stay. */
            for (int i = 0; i < 11; i++) {
                CHECK_IS(0, leat_send(ch, &i));
                if (i < 3)
                    CHECK_IS(0, leat_recv(ch, &x));
            }
            x = 60;
            CHECK_IS(-EAGAIN, leat_try_send(ch, &x));
            CHECK_IS(-ETIMEDOUT, leat_send_until(ch, &x, leat_after(LEAT_US)));
            if (closed) {
                CHECK_IS(0, leat_close(ch));
                CHECK_IS(-EPIPE, leat_send(ch, &x));
            }
            check_dropped(0, 0);
            if (counted) {
                CHECK_IS(0, leat_chan_unref(ch));
                check_dropped(3, 11);
            }
            CHECK_IS(0, leat_scope_close(s));
            if (!counted)
                check_dropped(3, 11);
            check_dropped(0, 0);
        }
    }
    return 0;
}
ON_WORKERS(drops_what_is_left);

/* A buffer goes back to its pool, which is a channel of the same scope. */
static leat_chan *pool, *work;
static int given_back;

static void give_back(void *item)
{
    int error = leat_try_send(pool, item);
    CHECK(error == 0 || error == -EPIPE);
    given_back += !error;
    CHECK_IS(-EPIPE, leat_try_send(work, item));
}

static int drops_into_another_channel(void *arg)
{
    (void)arg;
    for (int pool_first = 0; pool_first <= 1; pool_first++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        if (pool_first)
            pool = open_noting(s, 8);
        work = leat_chan_open(
            s, &(leat_chan_spec){ .item_size = sizeof(int), .capacity = 8, .drop = give_back });
        if (!pool_first)
            pool = open_noting(s, 8);
        for (int i = 0; i < 5; i++)
            CHECK_IS(0, leat_send(work, &i));
        given_back = 0;
        CHECK_IS(0, leat_scope_close(s));
        CHECK_IS(pool_first ? 5 : 0, given_back);
        check_dropped(0, pool_first ? 5 : 0);
    }
    return 0;
}
ON_WORKERS(drops_into_another_channel);

/* The channel is closed or the scope is cancelled while a sender waits: nothing is dropped. */
static int waiting_senders_keep_their_items(void *arg)
{
    (void)arg;
    struct crew crew;
    crew_open(&crew);
    leat_chan *ch = open_noting(crew.scope, 1);
    struct end first = { ch, 1, 1 }, second = { ch, 2, 1 };
    CHECK_IS(0, leat_send(ch, &(int){ 0 }));
    crew_go(&crew, TASK, send_number, &first);
    crew_go(&crew, BLOCKING, send_number, &second);
    WAIT_UNTIL(senders_of(ch) == 2);
    CHECK_IS(0, leat_close(ch));
    crew_close(&crew);
    CHECK_IS(-EPIPE, first.result);
    CHECK_IS(-EPIPE, second.result);
    check_dropped(0, 1);

    crew_open(&crew);
    ch = open_noting(crew.scope, 1);
    first.ch = second.ch = ch;
    CHECK_IS(0, leat_send(ch, &(int){ 0 }));
    crew_go(&crew, TASK, send_number, &first);
    crew_go(&crew, BLOCKING, send_number, &second);
    WAIT_UNTIL(senders_of(ch) == 2);
    CHECK_IS(0, leat_scope_cancel(crew.scope));
    crew_close(&crew);
    CHECK_IS(-ECANCELED, first.result);
    CHECK_IS(-ECANCELED, second.result);
    check_dropped(0, 1);
    return 0;
}
ON_WORKERS(waiting_senders_keep_their_items);

/* A drop function may use other channels, and release the last reference to one. */
struct parcel {
    leat_chan *other;
};

static void drop_parcel(void *item)
{
    struct parcel parcel;
    memcpy(&parcel, item, sizeof parcel);
    CHECK_IS(0, leat_try_send(parcel.other, &(int){ 5 }));
    CHECK_IS(0, leat_chan_unref(parcel.other));
}

static int drops_with_no_lock_held(void *arg)
{
    (void)arg;
    leat_chan *other = open_noting(NULL, 2);
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_open(s, &(leat_chan_spec){ .item_size = sizeof(struct parcel),
                                                         .capacity = 1,
                                                         .drop = drop_parcel });
    CHECK_IS(0, leat_send(ch, &(struct parcel){ other }));
    CHECK_IS(0, leat_scope_close(s));
    check_dropped(5, 6);
    return 0;
}
ON_WORKERS(drops_with_no_lock_held);

static int hold_a_while(void *arg)
{
    leat_chan *ch = arg;
    CHECK_IS(0, leat_chan_ref(ch));
    leat_yield();
    CHECK_IS(0, leat_chan_unref(ch));
    return leat_chan_unref(ch);
}

static int counts_references(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *owned = leat_chan_of(s, int, 1);
    CHECK_IS(-EINVAL, leat_chan_ref(owned));
    CHECK_IS(-EINVAL, leat_chan_unref(owned));
    CHECK_IS(0, leat_send(owned, &(int){ 1 }));
    CHECK_IS(0, leat_scope_close(s));

    for (int round = 0; round < 50; round++) {
        struct crew crew;
        leat_chan *ch = open_noting(NULL, 1);
        CHECK_IS(0, leat_send(ch, &(int){ 7 }));
        crew_open(&crew);
        for (int i = 0; i < 6; i++) {
            CHECK_IS(0, leat_chan_ref(ch));
            crew_go(&crew, kind_of(i), hold_a_while, ch);
        }
        if (round % 2) /* our reference is not the last one */
            CHECK_IS(0, leat_chan_unref(ch));
        crew_close(&crew);
        if (round % 2 == 0) {
            check_dropped(0, 0);
            CHECK_IS(0, leat_chan_unref(ch));
        }
        check_dropped(7, 8);
    }
    return 0;
}
ON_WORKERS(counts_references);

static leat_chan *survivor;

static int make_survivor(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    survivor = leat_chan_of(NULL, int, 3);
    CHECK_IS(0, leat_send(survivor, &(int){ 42 }));
    return leat_scope_close(s);
}

static int read_survivor(void *arg)
{
    (void)arg;
    int x = 0;
    CHECK_IS(0, leat_recv(survivor, &x));
    CHECK_IS(42, x);
    return leat_chan_unref(survivor);
}

static void outlives_scopes(void **state)
{
    (void)state;
    if (IN_SIM) /* the world would run each half once for each seed */
        return;
    run_on(1, make_survivor);
    run_on(2, read_survivor);
}

static int free_under_a_waiter(void *arg)
{
    (void)arg;
    struct crew crew;
    crew_open(&crew);
    struct end end = { leat_chan_of(NULL, int, 0), 0, 0 };
    crew_go(&crew, TASK, receive_number, &end);
    WAIT_UNTIL(receivers_of(end.ch) == 1);
    leat_chan_unref(end.ch);
    return 0;
}

static void freeing_a_channel_in_use_aborts(void **state)
{
    (void)state;
    int ends[2];
    CHECK_IS(0, pipe(ends));
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        dup2(ends[1], 2);
        close(ends[0]);
        close(ends[1]);
        /* With two workers ThreadSanitizer would report a race before leat reports the fault. */
        setenv("LEAT_WORKERS", "1", 1);
        leat_main(free_under_a_waiter, NULL);
        _exit(0);
    }
    close(ends[1]);
    char text[4096];
    size_t length = 0;
    for (ssize_t n; (n = read(ends[0], text + length, sizeof text - 1 - length)) > 0;)
        length += (size_t)n;
    text[length] = '\0';
    close(ends[0]);
    int status;
    CHECK_IS(child, waitpid(child, &status, 0));
    CHECK(!WIFEXITED(status) || WEXITSTATUS(status) != 0);
    CHECK(strstr(text, "leat"));
    CHECK(strstr(text, "chan"));
    CHECK(!strstr(text, "Sanitizer"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(freeing_a_channel_in_use_aborts),
        TESTS_ON_WORKERS(closed_channels_return_epipe),
        TESTS_ON_WORKERS(drains_first),
        TESTS_ON_WORKERS(wakes_all),
        TESTS_ON_WORKERS(closes_amid_traffic),
        TESTS_ON_WORKERS(counts_senders),
        TESTS_ON_WORKERS(drops_what_is_left),
        TESTS_ON_WORKERS(drops_into_another_channel),
        TESTS_ON_WORKERS(waiting_senders_keep_their_items),
        TESTS_ON_WORKERS(drops_with_no_lock_held),
        TESTS_ON_WORKERS(counts_references),
        cmocka_unit_test(outlives_scopes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
