/* google_search: the three versions of "Google search" from Go's talk on concurrency patterns, with
 * blocks in place of goroutines. Each server answers within 100 ms.
 *
 * 1. One server after the other: takes as long as all servers together.
 * 2. All servers at once: takes as long as the slowest.
 * 3. Three replicas of each server, and 80 ms in all: the first answer of each kind counts, and the
 *    program does without a kind that has not answered by then. To leave early it cancels the
 *    scope, and nothing is left behind.
 *
 * How long each takes and which server is late is random, so it is written to standard error. */
#include <leat/leat.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS = 3, REPLICAS = 3 };
static const char *const kinds[KINDS] = { "web", "image", "video" };

struct hit {
    int kind, replica;
    char text[40];
};

/* A query to one server. */
struct search {
    leat_block block;
    leat_alarm alarm;
    leat_chan *out;
    const char *query;
    struct hit hit;
};

static int fake_search(leat_block *b)
{
    struct search *me = (struct search *)b;
    LEAT_BEGIN(b);
    LEAT_AWAIT_SLEEP(b, rand() % 100 * LEAT_MS, &me->alarm);
    if (b->status < 0)
        LEAT_RETURN(b, b->status);
    snprintf(me->hit.text, sizeof me->hit.text, "%s result for \"%s\"", kinds[me->hit.kind],
             me->query);
    LEAT_AWAIT_SEND(b, me->out, &me->hit);
    LEAT_END(b);
}

/* ---- 1: one after the other ---- */

struct sequence {
    leat_block block;
    struct search search; /* runs as a part of this block, for one kind after the other */
    leat_chan *out;
    int kind;
};

static int search_in_sequence(leat_block *b)
{
    struct sequence *me = (struct sequence *)b;
    LEAT_BEGIN(b);
    for (me->kind = 0; me->kind < KINDS; me->kind++) {
        me->search =
            (struct search){ .out = me->out, .query = "leat", .hit = { .kind = me->kind } };
        LEAT_AWAIT_CALL(b, &me->search.block, fake_search);
    }
    leat_close(me->out);
    LEAT_END(b);
}

static int sequential(void)
{
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct sequence sequence = { .out = leat_chan_of(s, struct hit, 0) };
    leat_go_block(s, &sequence.block, search_in_sequence);
    for (struct hit hit; leat_recv(sequence.out, &hit) == 0;)
        printf("%s\n", hit.text); /* always in the order of `kinds` */
    return leat_scope_close(s);
}

/* ---- 2: all at once ---- */

static int parallel(void)
{
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *out = leat_chan_of(s, struct hit, 0);
    struct search searches[KINDS];
    for (int kind = 0; kind < KINDS; kind++) {
        searches[kind] = (struct search){ .out = out, .query = "leat", .hit = { .kind = kind } };
        leat_go_block(s, &searches[kind].block, fake_search);
    }
    struct hit hits[KINDS] = { 0 }, hit;
    for (int i = 0; i < KINDS && leat_recv(out, &hit) == 0; i++)
        hits[hit.kind] = hit;
    for (int kind = 0; kind < KINDS; kind++)
        printf("%s\n", hits[kind].text);
    return leat_scope_close(s);
}

/* ---- 3: replicas, and no longer than 80 ms ---- */

static int replicated(void)
{
    int64_t begin = leat_now(), deadline = leat_after(80 * LEAT_MS);
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *first[KINDS];
    struct search searches[KINDS][REPLICAS];
    struct hit hits[KINDS] = { 0 }, hit;
    for (int kind = 0; kind < KINDS; kind++) {
        first[kind] = leat_chan_of(s, struct hit, REPLICAS); /* room, so that no answer waits */
        for (int i = 0; i < REPLICAS; i++) {
            struct search *search = &searches[kind][i];
            *search =
                (struct search){ .out = first[kind], .query = "leat", .hit = { kind, i, "" } };
            leat_go_block(s, &search->block, fake_search);
        }
    }
    int came = 0;
    for (; came < KINDS; came++) {
        leat_case cases[KINDS];
        for (int kind = 0; kind < KINDS; kind++) /* not for a kind that has its answer */
            cases[kind] = (leat_case)LEAT_RECV(*hits[kind].text ? NULL : first[kind], &hit);
        int kind = leat_select(cases, KINDS, deadline);
        if (kind < 0)
            break; /* 80 ms have passed */
        hits[kind] = hit;
    }
    leat_scope_cancel(s);
    int why = leat_scope_close(s);
    int64_t took = leat_now() - begin;

    int right = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        if (*hits[kind].text == '\0')
            fprintf(stderr, "%s: too late\n", kinds[kind]);
        else
            fprintf(stderr, "%s, from replica %d\n", hits[kind].text, hits[kind].replica);
        right +=
            *hits[kind].text && strncmp(hits[kind].text, kinds[kind], strlen(kinds[kind])) == 0;
    }
    fprintf(stderr, "after %d ms\n", (int)(took / LEAT_MS));
    printf("at most %d results, each of its kind: %s\n", KINDS, right == came ? "yes" : "no");
    printf("all of them, or 80 ms are over: %s\n",
           came == KINDS || took >= 80 * LEAT_MS ? "yes" : "no");
    return why;
}

static int search_thrice(void *arg)
{
    (void)arg;
    static const struct {
        const char *name;
        int (*search)(void);
    } versions[] = { { "sequential", sequential },
                     { "parallel", parallel },
                     { "replicated", replicated } };
    int err = 0;
    for (size_t i = 0; i < sizeof versions / sizeof *versions && !err; i++) {
        printf("%s:\n", versions[i].name);
        err = versions[i].search();
    }
    return err;
}

int main(void)
{
    srand((unsigned)leat_now());
    return leat_main(search_thrice, NULL) < 0;
}
