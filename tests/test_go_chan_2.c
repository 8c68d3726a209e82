/* test_go_chan_2.c: Go's channel tests that are whole programs: sieves, a long chain, channels that
 * carry channels; and rules of Go's compiler that leat checks at run time. */
#include "support.h"

/* perm: operations on a NULL or wrong channel. leat's channels have no direction. */
static int refuses_what_is_no_channel(void *arg)
{
    (void)arg;
    int x = 0;
    CHECK_IS(-EINVAL, leat_recv(NULL, &x));
    CHECK_IS(-EINVAL, leat_send(NULL, &x));
    CHECK_IS(-EINVAL, leat_close(NULL));
    leat_case cases[] = { LEAT_RECV(NULL, &x), LEAT_SEND(NULL, &x) };
    CHECK_IS(-EAGAIN, leat_select(cases, 2, LEAT_NOW));
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_of(s, int, 1);
    cases[0] = (leat_case){ ch, &x, LEAT_CASE_RECV | LEAT_CASE_SEND, 0, { NULL } };
    CHECK_IS(-EINVAL, leat_select(cases, 1, LEAT_NOW));
    CHECK_IS(0, leat_close(ch)); /* both sides may close it, also twice */
    CHECK_IS(0, leat_close(ch));
    CHECK_IS(-EPIPE, leat_send(ch, &x));
    return leat_scope_close(s);
}
ON_WORKERS(refuses_what_is_no_channel);

/* sendstmt: a channel that carries channels. */
static int carries_channels(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *chans = leat_chan_of(s, leat_chan *, 1), *ch = leat_chan_of(s, int, 1), *got = NULL;
    CHECK_IS(0, leat_send(chans, &ch));
    CHECK_IS(0, leat_recv(chans, &got));
    CHECK(got == ch);
    int x = 2;
    leat_case cases[] = { LEAT_SEND(got, &x) };
    CHECK_IS(0, leat_select(cases, 1, LEAT_NOW));
    x = 0;
    CHECK_IS(0, leat_recv(ch, &x));
    CHECK_IS(2, x);
    return leat_scope_close(s);
}
ON_WORKERS(carries_channels);

/* Each request carries the channel for its answer. */
struct request {
    int number;
    leat_chan *answer;
};

static int serve(void *arg)
{
    for (struct request r; leat_recv(arg, &r) == 0;) {
        int answer = r.number * r.number;
        CHECK_IS(0, leat_send(r.answer, &answer));
    }
    return 0;
}

static int answers_on_the_channel_it_got(void *arg)
{
    (void)arg;
    struct crew crew;
    crew_open(&crew);
    leat_chan *requests = leat_chan_of(crew.scope, struct request, 0);
    for (enum kind kind = TASK; kind < KINDS; kind++)
        crew_go(&crew, kind, serve, requests);
    for (int i = 0; i < 300 / SCALE; i++) {
        struct request r = { i, leat_chan_of(NULL, int, (size_t)i % 2) };
        int x = -1;
        CHECK_IS(0, leat_send(requests, &r));
        CHECK_IS(0, leat_recv(r.answer, &x));
        CHECK_IS(i * i, x);
        CHECK_IS(0, leat_chan_unref(r.answer));
        leat_yield();
    }
    CHECK_IS(0, leat_close(requests));
    crew_close(&crew);
    return 0;
}

ON_WORKERS(answers_on_the_channel_it_got);

/* zerosize: items without bytes, in every kind of channel. */
static int carries_nothing(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    for (leat_buffer buffer = LEAT_FIXED; buffer <= LEAT_PROMISE; buffer++) {
        leat_chan_spec spec = { .capacity = 3, .buffer = buffer };
        leat_chan *ch = leat_chan_open(s, &spec);
        CHECK(ch);
        CHECK_IS(0, leat_send(ch, NULL));
        CHECK_IS(1, leat_chan_len(ch));
        CHECK_IS(0, leat_recv(ch, NULL));
        CHECK_IS(buffer == LEAT_PROMISE, leat_chan_len(ch));
    }
    leat_chan *ch = leat_chan_make(s, 0, 0);
    CHECK_IS(-EAGAIN, leat_try_send(ch, NULL));
    /* Any number of them fits. */
    leat_chan *vast = leat_chan_make(s, 0, SIZE_MAX / 4);
    for (int i = 0; i < 1000; i++)
        CHECK_IS(0, leat_send(vast, NULL));
    CHECK_IS(1000, leat_chan_len(vast));
    return leat_scope_close(s);
}
ON_WORKERS(carries_nothing);

/* goroutines: each task of a chain passes one item on. */
enum { CHAIN = IN_SIM ? 300 : UNDER_TSAN ? 1000 : 10000 };

struct pair {
    leat_chan *left, *right;
};

static int hand_on(void *arg)
{
    struct pair *pair = arg;
    int x;
    CHECK_IS(0, leat_recv(pair->right, &x));
    x++;
    CHECK_IS(0, leat_send(pair->left, &x));
    return 0;
}

static int hands_on_through_thousands(void *arg)
{
    (void)arg;
    struct pair *pairs = calloc(CHAIN, sizeof *pairs);
    CHECK(pairs);
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *leftmost = leat_chan_of(s, int, 0), *right = leftmost;
    for (int i = 0; i < CHAIN; i++) {
        pairs[i].left = right;
        pairs[i].right = right = leat_chan_of(s, int, 0);
        CHECK_IS(0, leat_go(s, hand_on, &pairs[i]));
    }
    int x = 1;
    CHECK_IS(0, leat_send(right, &x));
    CHECK_IS(0, leat_recv(leftmost, &x));
    CHECK_IS(1 + CHAIN, x);
    CHECK_IS(0, leat_scope_close(s));
    free(pairs);
    return 0;
}
ON_WORKERS(hands_on_through_thousands);

/* ---- sieves ---- */

static bool is_prime(int n)
{
    for (int i = 2; i * i <= n; i++)
        if (n % i == 0)
            return false;
    return n > 1;
}

/* sieve1: a row with one filter for each prime. At the end the row is cancelled. */
struct filter {
    leat_scope *scope;
    leat_chan *in, *out;
    int prime;
};

static int count_from_two(void *arg)
{
    struct filter *f = arg;
    int error = 0;
    for (int i = 2; !error; i++)
        error = leat_send(f->out, &i);
    return error;
}

static int filter_multiples(void *arg)
{
    struct filter *f = arg;
    int error = 0, x;
    while (!error && (error = leat_recv(f->in, &x)) == 0)
        if (x % f->prime)
            error = leat_send(f->out, &x);
    return error;
}

static int sieves_in_a_row(void *arg)
{
    (void)arg;
    enum { PRIMES = 150 / SCALE };
    struct filter filters[PRIMES + 1];
    for (size_t capacity = 0; capacity <= 2; capacity += 2) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        filters[0] = (struct filter){ .out = leat_chan_of(s, int, capacity) };
        CHECK_IS(0, leat_go(s, count_from_two, &filters[0]));
        for (int i = 1, expected = 2; i <= PRIMES; i++, expected++) {
            leat_chan *in = filters[i - 1].out;
            int prime = 0;
            CHECK_IS(0, leat_recv(in, &prime));
            while (!is_prime(expected))
                expected++;
            CHECK_IS(expected, prime);
            filters[i] = (struct filter){ s, in, leat_chan_of(s, int, capacity), prime };
            CHECK_IS(0, leat_go(s, filter_multiples, &filters[i]));
        }
        CHECK_IS(0, leat_scope_cancel(s));
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}
ON_WORKERS(sieves_in_a_row);

/* sieve2: the primes feed a merge of their multiples, which are removed from the odd numbers. A
 * task with an unbounded buffer closes the loop: a select that sends only when it has an item. */
enum { STREAM = 10, LEVELS = 16, UP_TO = 200 };

struct multiples {
    leat_chan *out;
    int first, step, head;
};

static int count_by(void *arg)
{
    struct multiples *m = arg;
    int error = 0;
    for (int x = m->first; !error; x += m->step)
        error = leat_send(m->out, &x);
    return error;
}

struct sieve {
    leat_scope *scope;
    leat_chan *primes_in, *primes_out, *composites, *found;
    struct multiples odds, streams[LEVELS];
};

static int buffer_without_bound(void *arg)
{
    struct sieve *s = arg;
    int items[UP_TO], first = 0, last = 0, result;
    do {
        CHECK(last < UP_TO);
        leat_case cases[] = { LEAT_RECV(s->primes_in, &items[last]),
                              LEAT_SEND(first < last ? s->primes_out : NULL, &items[first]) };
        result = leat_select(cases, 2, LEAT_NEVER);
        last += result == 0;
        first += result == 1;
    } while (result >= 0);
    return result;
}

/* Starts the stream of the next prime's multiples, from its square on. */
static int add_stream(struct sieve *s, struct multiples *m)
{
    int prime, error = leat_recv(s->primes_out, &prime);
    if (error)
        return error;
    m->out = leat_chan_of(s->scope, int, STREAM);
    m->first = prime * prime;
    m->step = 2 * prime;
    CHECK_IS(0, leat_go(s->scope, count_by, m));
    return leat_recv(m->out, &m->head);
}

/* Sends the multiples of all primes so far, in order, each once. It asks for the next prime only
 * when it has sent the square of the last, since the next prime depends on that. */
static int merge_multiples(void *arg)
{
    struct sieve *s = arg;
    int error = 0, streams = 0;
    for (int sent = 0; !error;) {
        while (!error && streams < LEVELS && (!streams || sent >= s->streams[streams - 1].first)) {
            error = add_stream(s, &s->streams[streams]);
            streams++;
        }
        int least = INT32_MAX;
        for (int i = 0; i < streams; i++)
            least = s->streams[i].head < least ? s->streams[i].head : least;
        error = error ? error : leat_send(s->composites, &least);
        for (int i = 0; i < streams && !error; i++)
            if (s->streams[i].head == least)
                error = leat_recv(s->streams[i].out, &s->streams[i].head);
        sent = least;
    }
    return error;
}

static int sift(void *arg)
{
    struct sieve *s = arg;
    int candidate, composite, error = leat_recv(s->odds.out, &candidate);
    while (!error && (error = leat_recv(s->composites, &composite)) == 0) {
        while (!error && candidate < composite) {
            error = leat_send(s->primes_in, &candidate);
            error = error ? error : leat_send(s->found, &candidate);
            error = error ? error : leat_recv(s->odds.out, &candidate);
        }
        if (!error && candidate == composite)
            error = leat_recv(s->odds.out, &candidate);
    }
    return error;
}

static int sieves_in_a_loop(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    struct sieve s = { .scope = scope,
                       .primes_in = leat_chan_of(scope, int, STREAM),
                       .primes_out = leat_chan_of(scope, int, STREAM),
                       .composites = leat_chan_of(scope, int, 50),
                       .found = leat_chan_of(scope, int, STREAM) };
    s.odds = (struct multiples){ leat_chan_of(scope, int, 50), 5, 2, 0 };
    int three = 3, expected = 5;
    CHECK_IS(0, leat_send(s.primes_out, &three));
    CHECK_IS(0, leat_go(scope, count_by, &s.odds));
    CHECK_IS(0, leat_go(scope, buffer_without_bound, &s));
    CHECK_IS(0, leat_go(scope, merge_multiples, &s));
    CHECK_IS(0, leat_go(scope, sift, &s));
    for (int i = 0; i < 100; i++, expected++) {
        int prime = 0;
        CHECK_IS(0, leat_recv(s.found, &prime));
        while (!is_prime(expected))
            expected++;
        CHECK_IS(expected, prime);
    }
    CHECK_IS(0, leat_scope_cancel(scope));
    return leat_scope_close(scope);
}
ON_WORKERS(sieves_in_a_loop);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(refuses_what_is_no_channel),
        TESTS_ON_WORKERS(carries_channels),
        TESTS_ON_WORKERS(answers_on_the_channel_it_got),
        TESTS_ON_WORKERS(carries_nothing),
        TESTS_ON_WORKERS(hands_on_through_thousands),
        TESTS_ON_WORKERS(sieves_in_a_row),
        TESTS_ON_WORKERS(sieves_in_a_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
