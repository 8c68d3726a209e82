/* parties.h: for test_parties.c: a round's parties and channels, a record of each item, and the
 * next step of any kind of party. */
#pragma once

#include "support.h"

enum party_kind { A_TASK, A_BLOCK, A_CALLBACK, A_THREAD, PARTY_KINDS };
enum buffer_kind { NO_BUFFER, FIXED_1, FIXED_3, DROPPING_2, SLIDING_2, PROMISE, BUFFER_KINDS };
/* MANY: several items at once, without waiting where the kind of party cannot wait for several.
 * UNTIL: with deadlines that pass; callbacks have none, and are withdrawn now and then instead. */
enum operation { PLAIN, SELECT, TRY, UNTIL, SELECT_UNTIL, MANY, OPERATIONS };
enum event { NOTHING, CLOSE, CANCEL, DEADLINE, EVENTS };

static const char *const kind_names[] = { "task", "block", "callback", "thread" };
static const char *const buffer_names[] = { "none",     "fixed 1", "fixed 3",
                                            "dropping", "sliding", "promise" };
static const char *const operation_names[] = { "plain", "select",       "try",
                                               "until", "select until", "many" };
static const char *const event_names[] = { "nothing", "close", "cancel", "deadline" };

enum { MOST_PARTIES = 6, MOST_ITEMS = 12, MOST_AT_ONCE = 3, CHANNELS = 2, NOT_NOW = INT32_MIN };

struct record {
    unsigned sender, number;
    _Atomic unsigned sent, received, dropped;
};

/* An item of the round is the first item_size bytes of this. */
struct item {
    struct record *record;
    uintptr_t copies[2];
};

struct party {
    struct round *round;
    enum party_kind kind;
    enum operation operation;
    bool sends, foreign, fickle;
    unsigned index, items, done; /* items: a sender's; done: items sent or received */
    unsigned limit;              /* items after which a receiver leaves; 0: never */
    uint64_t chance;
    bool shut[CHANNELS];
    unsigned seen[CHANNELS][MOST_PARTIES]; /* of each sender: the last number received, plus 1 */
    unsigned char bytes[MOST_AT_ONCE * sizeof(struct item)];
    struct record *records;
    leat_case cases[CHANNELS];
    leat_block block;
    leat_alarm alarm;
    leat_op op;
    _Atomic bool in_flight; /* an operation of the callback has begun */
    bool ticks;             /* it only waits for its turn */
    pthread_mutex_t lock;   /* of callbacks that are withdrawn */
    leat_scope *own;        /* a foreign thread's scope */
    struct foreign thread;
};

struct round {
    uint64_t chance;
    leat_scope *scope;
    leat_chan *ch[CHANNELS];
    leat_chan *tick; /* closed: a receive from it takes one turn */
    enum buffer_kind buffer;
    enum event event;
    size_t item_size;
    int64_t delay, deadline;
    unsigned senders, receivers;
    bool started_by_task, event_by_task, withdrawn_by_task;
    _Atomic bool thrown;
    _Atomic unsigned fickle; /* callbacks that may be withdrawn and have not ended */
    pthread_mutex_t lock;    /* of the foreign threads' scopes */
    struct party parties[MOST_PARTIES];
    struct record records[MOST_PARTIES][MOST_ITEMS];
};

/* ---- items ---- */

static void pack(struct party *p, unsigned place, struct record *record)
{
    struct item item = { record, { ~(uintptr_t)record, (uintptr_t)record } };
    memcpy(p->bytes + place * p->round->item_size, &item, p->round->item_size);
}

static struct record *unpack(const void *bytes, size_t size)
{
    struct item item = { NULL, { 0, 0 } };
    memcpy(&item, bytes, size);
    CHECK(item.record);
    CHECK(size < 16 || item.copies[0] == ~(uintptr_t)item.record);
    CHECK(size < 24 || item.copies[1] == (uintptr_t)item.record);
    return item.record;
}

static void drop(void *bytes)
{
    struct record *record = unpack(bytes, sizeof record);
    CHECK_IS(0, atomic_fetch_add(&record->dropped, 1));
}

/* ---- a party's next operation and its outcome ---- */

static bool uses_select(const struct party *p)
{
    return p->operation == SELECT || p->operation == SELECT_UNTIL;
}

static bool is_cancelled(const struct party *p)
{
    return p->own ? leat_cancelled(p->own) : leat_cancelled(p->round->scope);
}

static void leave(struct party *p)
{
    for (unsigned c = 0; p->sends && c < CHANNELS; c++)
        CHECK_IS(0, leat_chan_done(p->round->ch[c]));
    if (p->fickle)
        atomic_fetch_sub(&p->round->fickle, 1);
}

/* False: the party has done all it wanted. */
static bool prepare(struct party *p)
{
    struct round *round = p->round;
    if (p->sends ? p->done == p->items : p->limit && p->done >= p->limit)
        return false;
    if (p->sends)
        for (unsigned i = 0; i < MOST_AT_ONCE && p->done + i < p->items; i++)
            pack(p, i, &p->records[p->done + i]);
    else
        memset(p->bytes, 0, sizeof p->bytes);
    for (unsigned c = 0; c < CHANNELS; c++)
        p->cases[c] = (leat_case){ p->shut[c] ? NULL : round->ch[c],
                                   p->bytes,
                                   p->sends ? LEAT_CASE_SEND : LEAT_CASE_RECV,
                                   0,
                                   { NULL } };
    return true;
}

static unsigned at_once(struct party *p)
{
    unsigned n = 1 + below(&p->chance, MOST_AT_ONCE);
    return p->sends && n > p->items - p->done ? p->items - p->done : n;
}

static int64_t soon(struct party *p)
{
    return leat_after((int64_t)below(&p->chance, 60) * LEAT_US);
}

static void got(struct party *p, unsigned channel, unsigned place)
{
    struct round *round = p->round;
    struct record *record = unpack(p->bytes + place * round->item_size, round->item_size);
    atomic_fetch_add(&record->received, 1);
    unsigned *seen = &p->seen[channel][record->sender];
    CHECK(record->number + (round->buffer == PROMISE) >= *seen);
    *seen = record->number + 1;
}

/* The channel took n items from the party, or gave it n. */
static void went(struct party *p, unsigned channel, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (p->sends)
            CHECK_IS(0, atomic_fetch_add(&p->records[p->done + i].sent, 1));
        else
            got(p, channel, i);
    }
    p->done += n;
}

/* Acts on the status of an operation on the channel. False: the party ends. */
static bool settle(struct party *p, unsigned channel, int status)
{
    struct round *round = p->round;
    switch (status) {
    case 0: went(p, channel, 1); return true;
    case -EPIPE:
        CHECK(!p->sends || round->event == CLOSE);
        p->shut[channel] = true;
        if (p->sends || !uses_select(p))
            return false;
        return !p->shut[0] || !p->shut[1];
    case -ECANCELED: CHECK(round->event == CANCEL || round->event == DEADLINE); return false;
    case -EAGAIN:
        CHECK(p->operation == TRY || p->operation == MANY);
        return !p->sends || !is_cancelled(p);
    case -ETIMEDOUT: CHECK(p->operation == UNTIL || p->operation == SELECT_UNTIL); return true;
    default: check_failed(__FILE__, __LINE__, "status is %d", status);
    }
}

static bool outcome(struct party *p, int status)
{
    if (uses_select(p) && status >= 0) {
        CHECK(status < CHANNELS && p->cases[status].ch);
        return settle(p, (unsigned)status, p->cases[status].status);
    }
    if (p->operation == MANY && status > 0) {
        CHECK(status <= MOST_AT_ONCE);
        went(p, 0, (unsigned)status);
        return true;
    }
    return settle(p, 0, status);
}

static int try_now(struct party *p)
{
    leat_chan *ch = p->round->ch[0];
    return p->sends ? leat_try_send(ch, p->bytes) : leat_try_recv(ch, p->bytes);
}

static int many(struct party *p, int64_t deadline)
{
    leat_chan *ch = p->round->ch[0];
    unsigned n = at_once(p);
    return (int)(p->sends ? leat_send_many(ch, p->bytes, n, deadline)
                          : leat_recv_many(ch, p->bytes, n, deadline));
}
