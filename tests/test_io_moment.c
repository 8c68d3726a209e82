/* test_io_moment.c: data, a deadline, a cancelled scope and a withdrawal come to a descriptor's
 * waiters at the same moment. Of all that can end a wait, exactly one does: no byte is lost, none
 * comes twice, and no buffer is written to after its wait has ended. With parties of all kinds. */
#define _GNU_SOURCE
#include "io_parties.h"

enum { AT_ONCE = 3 };

/* How a wait ends. */
enum { MOVED, NOTHING_THERE, LATE, CANCELLED, WAYS_TO_END };

/* The bytes and their sum, which distinguishes a lost byte from one that came twice. */
struct account {
    int64_t bytes;
    uint64_t sum;
};

struct moment {
    struct pair pair;
    uint64_t chance;
    unsigned char next; /* the next byte that the test itself writes */
    struct account in, out;
    int64_t ends[IO_KINDS][WAYS_TO_END]; /* how often */
};

static void book(struct account *account, const unsigned char *bytes, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        account->sum += bytes[i] + UINT64_C(1) * bytes[i] * bytes[i];
    account->bytes += n > 0 ? n : 0;
}

static enum io_kind some_kind(uint64_t *chance)
{
    /* A thread of one's own takes as long as 20 rounds. */
    return below(chance, 64) == 0 ? A_THREAD : (enum io_kind)below(chance, A_THREAD);
}

static void make_party(struct moment *moment, struct io_party *p, enum io_deed deed,
                       leat_scope *scope)
{
    *p = (struct io_party){ .kind = some_kind(&moment->chance), .deed = deed, .scope = scope };
    p->io = deed == READS ? moment->pair.a : moment->pair.b;
    p->n = 1 + below(&moment->chance, deed == READS ? 3 : PIECE);
    int64_t soon = (int64_t)below(&moment->chance, 40) * LEAT_US;
    p->deadline = below(&moment->chance, 4) || p->kind == A_THREAD ? leat_after(soon) : LEAT_NEVER;
    for (size_t i = 0; deed == WRITES && i < p->n; i++)
        p->bytes[i] = (unsigned char)below(&moment->chance, 256);
}

/* The test writes for parties that read, and reads for parties that write. */
static void move_some(struct moment *moment, enum io_deed theirs)
{
    unsigned char bytes[4 * PIECE];
    CHECK_IS(0, leat_shield()); /* the scope may be cancelled already */
    int64_t n = 1 + below(&moment->chance, theirs == READS ? 3 : sizeof bytes);
    if (theirs == READS) {
        for (int64_t i = 0; i < n; i++)
            bytes[i] = moment->next++;
        n = leat_write_until(moment->pair.b, bytes, (size_t)n, LEAT_NOW);
        book(&moment->in, bytes, n);
    } else {
        n = leat_read_until(moment->pair.a, bytes, (size_t)n, LEAT_NOW);
        book(&moment->out, bytes, n);
    }
    CHECK(n > 0 || n == -EAGAIN);
    CHECK_IS(0, leat_unshield());
}

static void withdraw_some(struct io_party *parties)
{
    for (int i = 0; i < AT_ONCE; i++)
        if (parties[i].kind == A_CALLBACK && leat_withdraw(&parties[i].op) == 0)
            io_party_ends(&parties[i], -ETIMEDOUT);
}

static void settle(struct moment *moment, struct io_party *p)
{
    io_party_check(p);
    int64_t n = p->result;
    CHECK(n > 0 || n == -EAGAIN || n == -ETIMEDOUT || n == -ECANCELED);
    CHECK(n != -EAGAIN || p->kind == A_CALLBACK);
    book(p->deed == READS ? &moment->out : &moment->in, p->bytes, n);
    moment->ends[p->kind][n > 0             ? MOVED
                          : n == -EAGAIN    ? NOTHING_THERE
                          : n == -ETIMEDOUT ? LATE
                                            : CANCELLED]++;
}

/* The events that end the waits come in any order, close together. */
static void pass_moment(struct moment *moment, enum io_deed deed)
{
    struct io_party parties[AT_ONCE];
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < AT_ONCE; i++) {
        make_party(moment, &parties[i], deed, scope);
        io_party_go(&parties[i]);
    }
    for (unsigned turns = below(&moment->chance, 4); turns > 0; turns--)
        leat_yield();
    unsigned first = below(&moment->chance, 3);
    bool is_cancelled = false;
    for (unsigned i = 0; i < 3; i++)
        switch ((first + i) % 3) {
        case 0: move_some(moment, deed); break;
        case 1:
            if (below(&moment->chance, 2))
                withdraw_some(parties);
            break;
        default:
            if (below(&moment->chance, 2) && !is_cancelled) {
                CHECK_IS(0, leat_scope_cancel(scope));
                is_cancelled = true;
            }
        }
    /* Waits without a deadline end now. */
    if (!is_cancelled)
        CHECK_IS(0, leat_scope_cancel(scope));
    withdraw_some(parties);
    CHECK_IS(0, leat_scope_close(scope));
    for (int i = 0; i < AT_ONCE; i++)
        settle(moment, &parties[i]);
}

static void compare(struct moment *moment)
{
    unsigned char bytes[4096];
    while (moment->out.bytes < moment->in.bytes) {
        int64_t n = leat_read_until(moment->pair.a, bytes, sizeof bytes, late());
        CHECK(n > 0);
        book(&moment->out, bytes, n);
    }
    CHECK_IS(moment->in.bytes, moment->out.bytes);
    CHECK_IS(moment->in.sum, moment->out.sum);
}

/* Until a write would have to wait. */
static void fill(struct moment *moment)
{
    unsigned char bytes[4096];
    int64_t n;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)i;
    while ((n = leat_write_until(moment->pair.b, bytes, sizeof bytes, LEAT_NOW)) > 0)
        book(&moment->in, bytes, n);
    CHECK_IS(-EAGAIN, n);
}

/* In a long run as many as come in 3 s. Each has three waits: some million in all. */
static void pass_moments(struct moment *moment, enum io_deed deed)
{
    static _Atomic int64_t all;
    int64_t end = leat_after(3 * LEAT_S), rounds = 0,
            most = IN_SIM          ? 20
                   : in_long_run() ? INT64_MAX
                                   : 4000 / SCALE;
    while (rounds < most && (most < INT64_MAX || leat_now() < end)) {
        pass_moment(moment, deed);
        if (++rounds % 512 == 0)
            compare(moment);
        if (deed == WRITES && rounds % 4 == 0)
            fill(moment);
    }
    compare(moment);
    atomic_fetch_add(&all, rounds);
    if (in_long_run() && !IN_SIM)
        fprintf(stderr, "  %lld moments, %lld in all\n", (long long)rounds,
                (long long)atomic_load(&all));
}

/* Waits have ended in each way, or the test would say little. */
static void check_ends(const struct moment *moment)
{
    for (int way = 0; way < WAYS_TO_END; way++) {
        int64_t n = 0;
        for (int kind = 0; kind < IO_KINDS; kind++)
            n += moment->ends[kind][way];
        CHECK(IN_SIM || way == NOTHING_THERE || n > 0);
    }
}

static int reads_exactly_once(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    struct moment moment = { .pair = open_pair(scope), .chance = seed_of_test() };
    pass_moments(&moment, READS);
    check_ends(&moment);
    return leat_scope_close(scope);
}
ON_WORKERS(reads_exactly_once);

static int writes_exactly_once(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    struct moment moment = { .pair = open_pair(scope), .chance = seed_of_test() };
    if (!IN_SIM)
        CHECK_IS(0, setsockopt(leat_io_fd(moment.pair.b), SOL_SOCKET, SO_SNDBUF, &(int){ 1 },
                               sizeof(int)));
    fill(&moment);
    pass_moments(&moment, WRITES);
    check_ends(&moment);
    return leat_scope_close(scope);
}
ON_WORKERS(writes_exactly_once);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(reads_exactly_once),
        TESTS_ON_WORKERS(writes_exactly_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
