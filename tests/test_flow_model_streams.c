/* test_flow_model_streams.c: random programs compare operators that move items with plain loops. */
#include "flow_model.h"
#include "flows.h"

/* ---- one to one ---- */

static void pipes(uint64_t *chance)
{
    struct world w;
    world_open(&w, "pipe", chance, 1, 1);
    leat_chan *links[4] = { w.source[0].ch };
    int n = 1 + (int)below(&w.chance, 3);
    for (int i = 1; i <= n; i++) {
        links[i] = item_chan(&w);
        leat_ending ending = below(&w.chance, 2) ? LEAT_ENDS_CLOSED : LEAT_ENDS_DONE;
        CHECK_IS(0, leat_chan_senders(links[i], 1));
        CHECK(leat_pipe(w.s, links[i - 1], links[i], ending) == links[i]);
    }
    w.sink[0].ch = links[n];
    world_run(&w);
    for (int i = 1; i < n; i++) /* a pipe that has ended leaves items in its input */
        CHECK_IS(0, leat_close(links[i]));
    world_close(&w);
    check_same(&w.sink[0], w.source[0].items, w.source[0].length);
}

/* Few different items, many equal neighbours. */
static void with_repeats(struct world *w)
{
    struct source *source = &w->source[0];
    for (int i = 0; i < source->length; i++)
        source->items[i] =
            i && below(&w->chance, 2) ? source->items[i - 1] : (int)below(&w->chance, 4);
}

static int same_half(void *arg, const void *before, const void *item)
{
    (void)arg;
    return *(const int *)before / 2 == *(const int *)item / 2;
}

static void take_through(struct world *w, leat_transform *transform)
{
    struct source *source = &w->source[0];
    w->sink[0].ch = leat_through(w->s, source->ch, transform, 1 + below(&w->chance, 3), drop_item);
    CHECK(w->sink[0].ch);
}

static void takes(uint64_t *chance)
{
    struct world w;
    world_open(&w, "take", chance, 1, 1);
    uint64_t n = below(&w.chance, LENGTH + 2);
    take_through(&w, leat_take(sizeof(int), n));
    world_run(&w);
    world_close(&w);
    int length = w.source[0].length < (int)n ? w.source[0].length : (int)n;
    check_same(&w.sink[0], w.source[0].items, length);
}

static void filters(uint64_t *chance)
{
    static const char *const names[] = { "filter", "dedupe", "distinct" };
    for (int which = 0; which < 3; which++) {
        struct world w;
        world_open(&w, names[which], chance, 1, 1);
        with_repeats(&w);
        take_through(&w, which == 0   ? leat_filter(sizeof(int), is_odd, NULL)
                         : which == 1 ? leat_dedupe(sizeof(int))
                                      : leat_distinct(sizeof(int)));
        world_run(&w);
        world_close(&w);
        const struct source *source = &w.source[0];
        int expected[LENGTH] = { 0 }, n = 0;
        bool seen[IDS] = { false };
        for (int i = 0; i < source->length; i++) {
            int x = source->items[i];
            if (which == 0 ? x % 2 != 0 : which == 1 ? !i || x != source->items[i - 1] : !seen[x])
                expected[n++] = x;
            seen[x] = true;
        }
        check_same(&w.sink[0], expected, n);
    }
}

/* ---- runs ---- */

enum { RUN = 4 };

struct run {
    leat_run run;
    int items[RUN];
};

static void note_run(struct sink *sink, const void *item)
{
    const struct run *run = item;
    CHECK(run->run.count > 0 && run->run.count <= RUN);
    CHECK(sink->n + 1 + RUN <= GOT);
    sink->got[sink->n++] = -(int)run->run.count;
    for (size_t i = 0; i < run->run.count; i++) {
        sink->got[sink->n++] = run->items[i];
        item_ended(run->items[i]);
    }
}

static void drop_run(void *item)
{
    const struct run *run = item;
    for (size_t i = 0; i < run->run.count; i++)
        item_ended(run->items[i]);
}

/* The same by a loop: a run ends at RUN items or, if by_half, with its half. */
static int runs_of(const struct source *source, bool by_half, int *expected)
{
    int n = 0, head = -1;
    for (int i = 0; i < source->length; i++) {
        int x = source->items[i];
        if (head < 0 || expected[head] == -RUN || (by_half && expected[n - 1] / 2 != x / 2)) {
            head = n++;
            expected[head] = 0;
        }
        expected[head]--;
        expected[n++] = x;
    }
    return n;
}

static int without_counts(int *runs, int n)
{
    int items = 0;
    for (int i = 0; i < n; i++)
        if (runs[i] >= 0)
            runs[items++] = runs[i];
    return items;
}

static void partitions(uint64_t *chance)
{
    for (int by_half = 0; by_half < 2; by_half++) {
        struct world w;
        world_open(&w, by_half ? "partition_by" : "partition", chance, 1, 1);
        with_repeats(&w);
        leat_transform *t = by_half ? leat_partition_by(sizeof(int), RUN, same_half, NULL)
                                    : leat_partition(sizeof(int), RUN);
        w.sink[0].ch = leat_through(w.s, w.source[0].ch, t, 1 + below(&w.chance, 3), drop_run);
        w.sink[0].size = sizeof(struct run);
        w.sink[0].note = note_run;
        world_run(&w);
        world_close(&w);
        int expected[2 * LENGTH], n = runs_of(&w.source[0], by_half, expected);
        if (!w.whole) { /* the last run may be cut off */
            w.sink[0].n = without_counts(w.sink[0].got, w.sink[0].n);
            n = without_counts(expected, n);
        }
        check_same(&w.sink[0], expected, n);
    }
}

/* ---- several to one ---- */

static void merges(uint64_t *chance)
{
    struct world w;
    world_open(&w, "merge", chance, 1 + (int)below(chance, SOURCES), 1);
    leat_chan *ins[SOURCES];
    for (int i = 0; i < w.sources; i++)
        ins[i] = w.source[i].ch;
    w.sink[0].ch = leat_merge(w.s, ins, (size_t)w.sources, below(&w.chance, 3));
    world_run(&w);
    world_close(&w);
    check_per_source(&w, 0, 1);
}

/* Owns its inputs' items: it makes one item of them, and fails now and then. */
static int add_up(void *arg, void *const *items, void *out)
{
    const int *n = arg;
    int total = 0;
    for (int i = 0; i < *n; i++) {
        total += *(int *)items[i];
        item_ended(*(int *)items[i]);
    }
    total %= IDS;
    if (total % 7 == 3)
        return -EIO;
    memcpy(out, &total, sizeof total);
    item_made(total);
    return 0;
}

static int shortest(const struct world *w)
{
    int n = LENGTH;
    for (int i = 0; i < w->sources; i++)
        n = w->source[i].length < n ? w->source[i].length : n;
    return n;
}

static void drop_all(void *items)
{
    for (const int *id = items; *id >= 0; id++)
        item_ended(*id);
}

static int pack(void *arg, void *const *items, void *out)
{
    int *packed = out;
    for (int i = 0; i < *(int *)arg; i++)
        packed[i] = *(int *)items[i];
    packed[*(int *)arg] = -1;
    return 0;
}

static void note_packed(struct sink *sink, const void *item)
{
    for (const int *id = item; *id >= 0; id++) {
        sink->got[sink->n++] = *id;
        item_ended(*id);
    }
}

static void combines(uint64_t *chance)
{
    for (int which = 0; which < 3; which++) {
        struct world w;
        static const char *const names[] = { "map over channels", "map, packed", "zip" };
        world_open(&w, names[which], chance, 1 + (int)below(chance, SOURCES), 1);
        leat_chan *ins[SOURCES];
        for (int i = 0; i < w.sources; i++)
            ins[i] = w.source[i].ch;
        size_t n = (size_t)w.sources;
        leat_chan_spec spec = { .item_size = which ? (n + 1) * sizeof(int) : sizeof(int),
                                .capacity = which < 2 ? below(&w.chance, 3) : 0,
                                .drop = which == 0   ? drop_item
                                        : which == 1 ? drop_all
                                                     : NULL };
        leat_combine_fn *fns[] = { add_up, pack, NULL };
        struct sink *sink = &w.sink[0];
        sink->ch = leat_combine(w.s, ins, n, fns[which], &w.sources, &spec);
        sink->size = which == 2 ? n * sizeof(int) : spec.item_size;
        if (which == 1)
            sink->note = note_packed;
        world_run(&w);
        world_close(&w);
        int expected[IDS], count = 0;
        for (int k = 0; k < shortest(&w); k++) {
            int total = 0;
            for (int i = 0; i < w.sources; i++) {
                total += w.source[i].items[k];
                if (which)
                    expected[count++] = w.source[i].items[k];
            }
            if (!which && total % IDS % 7 != 3)
                expected[count++] = total % IDS;
        }
        check_same(sink, expected, count);
    }
}

/* ---- one to several ---- */

static int fails_on_fives(void *arg, const void *item)
{
    int id = *(const int *)item;
    (void)arg;
    return id % 5 == 4 ? -EIO : id % 3 == 0;
}

static void splits(uint64_t *chance)
{
    struct world w;
    world_open(&w, "split", chance, 1, 2);
    CHECK_IS(0, leat_split(w.s, w.source[0].ch, fails_on_fives, NULL, &w.sink[1].ch, &w.sink[0].ch,
                           below(&w.chance, 3)));
    world_run(&w);
    world_close(&w);
    for (int side = 0; side < 2; side++) {
        int expected[LENGTH] = { 0 }, n = 0;
        for (int i = 0; i < w.source[0].length; i++)
            if (fails_on_fives(NULL, &w.source[0].items[i]) == side)
                expected[n++] = w.source[0].items[i];
        check_same(&w.sink[side], expected, n);
    }
}

static void balances(uint64_t *chance)
{
    struct world w;
    world_open(&w, "balance", chance, 1, 1 + (int)below(chance, SINKS));
    leat_chan *outs[SINKS];
    for (int i = 0; i < w.sinks; i++)
        outs[i] = w.sink[i].ch = item_chan(&w);
    CHECK_IS(0, leat_balance(w.s, w.source[0].ch, outs, (size_t)w.sinks, LEAT_ENDS_CLOSED));
    world_run(&w);
    world_close(&w);
    check_per_source(&w, 0, w.sinks);
}

/* ---- beginnings and ends ---- */

struct supply {
    struct source *source;
    int next;
};

static int supply_next(void *arg, void *item)
{
    struct supply *supply = arg;
    struct source *source = supply->source;
    if (supply->next == source->length)
        return 1;
    item_made(source->items[supply->next]);
    memcpy(item, &source->items[supply->next++], sizeof(int));
    return 0;
}

/* These operators send without a source task. */
static void begins(uint64_t *chance)
{
    for (int which = 0; which < 3; which++) {
        struct world w;
        static const char *const names[] = { "onto", "to_chan", "generate" };
        world_open(&w, names[which], chance, 1, 1);
        struct source *source = &w.source[0];
        struct supply supply = { source, 0 };
        leat_chan_spec spec = { .item_size = sizeof(int),
                                .capacity = below(&w.chance, 3),
                                .drop = drop_item };
        size_t n = (size_t)source->length;
        if (which == 0) {
            w.sink[0].ch = leat_onto(w.s, item_chan(&w), source->items, n, LEAT_ENDS_CLOSED);
        } else if (which == 1) {
            w.sink[0].ch = leat_to_chan(w.s, source->items, sizeof(int), n, drop_item);
        } else {
            w.sink[0].ch = leat_generate(w.s, supply_next, &supply, &spec);
        }
        for (int i = 0; i < source->length && which < 2; i++)
            item_made(source->items[i]);
        w.sources = 0;
        w.early = w.early == IN_CLOSED ? ENOUGH : w.early;
        world_run(&w);
        CHECK(leat_scope_close(w.s) == 0 || w.early == DEADLINE);
        CHECK_IS(0, leat_chan_unref(w.left));
        check_same(&w.sink[0], source->items, source->length);
        if (which) /* leat_onto leaves unsent items with the caller */
            check_ledger();
    }
}

struct total {
    int sum, items, enough;
};

static int add_to_total(void *state, const void *item)
{
    struct total *total = state;
    item_ended(*(const int *)item);
    total->sum += *(const int *)item;
    return ++total->items == total->enough ? LEAT_ENOUGH : 0;
}

static void note_total(struct sink *sink, const void *item)
{
    const struct total *total = item;
    sink->got[sink->n++] = total->items;
    sink->got[sink->n++] = total->sum;
}

/* Checks the value of an operator against the items that it took. */
static void check_total(const struct world *w, const int *got, int enough)
{
    int n = w->source[0].length < enough ? w->source[0].length : enough, sum = 0;
    for (int i = 0; i < got[0]; i++)
        sum += w->source[0].items[i];
    CHECK_IS(sum, got[1]);
    CHECK(got[0] <= n);
    if (w->whole)
        CHECK_IS(n, got[0]);
}

static void reduces(uint64_t *chance)
{
    struct world w;
    world_open(&w, "reduce_into", chance, 1, 1);
    struct total total = { 0, 0, 1 + (int)below(&w.chance, LENGTH + 2) };
    w.sink[0].ch = leat_reduce_into(w.s, w.source[0].ch, add_to_total, &total, sizeof total);
    w.sink[0].size = sizeof total;
    w.sink[0].note = note_total;
    world_run(&w);
    world_close(&w);
    if (w.whole)
        CHECK_IS(2, w.sink[0].n);
    if (w.sink[0].n)
        check_total(&w, w.sink[0].got, total.enough);
}

/* A separate task for the calls that receive until the end. */
struct call {
    struct world *w;
    struct total total;
    int items[LENGTH];
    int64_t result;
    bool into;
};

static int call_it(void *arg)
{
    struct call *call = arg;
    leat_chan *in = call->w->source[0].ch;
    call->result = call->into ? leat_into(in, call->items, (size_t)call->total.enough)
                              : leat_reduce(in, add_to_total, &call->total);
    for (int i = 0; call->into && i < call->result; i++)
        item_ended(call->items[i]);
    return leat_chan_done(call->w->left);
}

static void calls(uint64_t *chance)
{
    for (int into = 0; into < 2; into++) {
        struct world w;
        world_open(&w, into ? "into" : "reduce", chance, 1, 0);
        if (w.early == OUT_CLOSED)
            w.early = CANCELLED;
        struct call call = { .w = &w, .into = into };
        call.total.enough = 1 + (int)below(&w.chance, LENGTH);
        w.left = leat_latch(NULL, 1);
        world_go(&w, call_it, &call);
        world_go(&w, send_items, &w.source[0]);
        world_go(&w, end_early, &w);
        leat_shield();
        CHECK_IS(0, leat_latch_wait(w.left, LEAT_NEVER));
        leat_unshield();
        CHECK_IS(0, leat_close(w.source[0].ch));
        world_close(&w);
        for (int i = 0; into && i < call.result; i++) {
            CHECK_IS(w.source[0].items[i], call.items[i]);
            call.total.sum += call.items[i];
            call.total.items++;
        }
        check_total(&w, (int[]){ call.total.items, call.total.sum }, call.total.enough);
        if (w.whole)
            CHECK_IS(into ? call.total.items : 0, call.result);
    }
}

static int does_what_a_loop_does(void *arg)
{
    (void)arg;
    static operator_fn *const operators[] = { pipes,  takes,    filters, partitions,
                                              merges, combines, splits,  balances,
                                              begins, reduces,  calls };
    return run_operators(operators, sizeof operators / sizeof *operators);
}
ON_WORKERS(does_what_a_loop_does);

int main(void)
{
    const struct CMUnitTest tests[] = { TESTS_ON_WORKERS(does_what_a_loop_does) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
