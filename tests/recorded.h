/* recorded.h: late traces, for tests: what they must look like, and a program to be traced. */
#pragma once

#include "support.h"

#include "sched/current.h"
#include "trace/trace.h"

/* ---- whether a text is JSON ---- */

static const char *json_value(const char *at);

static const char *json_space(const char *at)
{
    return at + strspn(at, " \n\t\r");
}

/* Each of these returns what follows, or NULL. */
static const char *json_string(const char *at)
{
    if (*at++ != '"')
        return NULL;
    for (; *at != '"'; at++) {
        if ((unsigned char)*at < 0x20)
            return NULL;
        if (*at == '\\' && !strchr("\"\\/bfnrtu", *++at))
            return NULL;
    }
    return at + 1;
}

/* The members of an object, or the elements of an array, up to its end. */
static const char *json_list(const char *at, bool object)
{
    char end = object ? '}' : ']';
    at = json_space(at);
    if (*at == end)
        return at + 1;
    for (;; at++) {
        at = json_space(at);
        if (object) {
            at = json_string(at);
            if (!at || *(at = json_space(at)) != ':')
                return NULL;
            at++;
        }
        if (!(at = json_value(at)))
            return NULL;
        at = json_space(at);
        if (*at == end)
            return at + 1;
        if (*at != ',')
            return NULL;
    }
}

static const char *json_value(const char *at)
{
    at = json_space(at);
    if (*at == '{' || *at == '[')
        return json_list(at + 1, *at == '{');
    if (*at == '"')
        return json_string(at);
    size_t length = strspn(at, "-.0123456789");
    return length ? at + length : NULL;
}

static inline bool is_json(const char *text)
{
    const char *end = json_value(text);
    return end && !*json_space(end);
}

/* ---- the contents of a trace ---- */

/* A slice, or the beginning or the end of a scope. */
struct traced {
    unsigned track;
    int64_t from, to; /* in nanoseconds since the beginning of the trace */
    unsigned scope;
    bool begins;
};

struct traced_all {
    struct traced *slices, *scopes;
    size_t slice_count, scope_count;
};

static inline int64_t trace_time(const char *line, const char *key)
{
    const char *at = strstr(line, key);
    char *point;
    CHECK(at);
    int64_t us = strtoll(at + strlen(key), &point, 10);
    CHECK(us >= 0 && *point == '.' && strspn(point + 1, "0123456789") == 3);
    return us * 1000 + strtoll(point + 1, NULL, 10);
}

static inline unsigned trace_number(const char *line, const char *key)
{
    const char *at = strstr(line, key);
    CHECK(at);
    return (unsigned)strtoul(at + strlen(key), NULL, 10);
}

/* One event is one line. Each is examined as a separate text: some functions for strings, and a
 * sanitizer's in the place of more, look for the end of the text first. */
static inline void read_events(const char *text, struct traced_all *all)
{
    size_t lines = 1;
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        lines++;
    all->slices = calloc(lines, sizeof *all->slices);
    all->scopes = calloc(lines, sizeof *all->scopes);
    CHECK(all->slices && all->scopes);
    char *copy = strdup(text), *rest = copy;
    CHECK(copy);
    for (char *line; (line = strsep(&rest, "\n"));) {
        if (strncmp(line, "{\"ph\":\"", 7) != 0)
            continue;
        struct traced event = { .track = trace_number(line, "\"tid\":") };
        char kind = line[7];
        CHECK(strchr("MXbe", kind));
        if (kind == 'M')
            continue;
        event.from = trace_time(line, "\"ts\":");
        if (kind == 'X') {
            event.to = event.from + trace_time(line, "\"dur\":");
            all->slices[all->slice_count++] = event;
            continue;
        }
        event.scope = trace_number(line, "\"id\":");
        event.begins = kind == 'b';
        all->scopes[all->scope_count++] = event;
    }
    free(copy);
}

static inline int by_track(const void *a, const void *b)
{
    const struct traced *x = a, *y = b;
    if (x->track != y->track)
        return x->track < y->track ? -1 : 1;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

static inline int by_scope(const void *a, const void *b)
{
    const struct traced *x = a, *y = b;
    if (x->scope != y->scope)
        return x->scope < y->scope ? -1 : 1;
    return (int)y->begins - (int)x->begins;
}

/* It is JSON; slices of a track do not overlap; each scope begins once, and ends once at most; and
 * there are no arrows, and a reason for that. */
static inline void check_trace(const char *text)
{
    struct traced_all all = { 0 };
    CHECK(is_json(text));
    CHECK(strstr(text, "\"arrows\":\"none: the trace began while the program ran\""));
    read_events(text, &all);
    qsort(all.slices, all.slice_count, sizeof *all.slices, by_track);
    for (size_t i = 1; i < all.slice_count; i++)
        CHECK(all.slices[i].track != all.slices[i - 1].track ||
              all.slices[i].from >= all.slices[i - 1].to);
    qsort(all.scopes, all.scope_count, sizeof *all.scopes, by_scope);
    for (size_t i = 0; i < all.scope_count; i++) {
        bool first = i == 0 || all.scopes[i].scope != all.scopes[i - 1].scope;
        CHECK_IS(first, all.scopes[i].begins);
        CHECK(first || all.scopes[i].from >= all.scopes[i - 1].from);
    }
    free(all.slices);
    free(all.scopes);
}

/* Whether a slice has this name, or begins with it. */
static inline bool has_slice(const char *text, const char *name)
{
    char what[300];
    snprintf(what, sizeof what, "\"name\":\"%s", name);
    for (const char *at = text; (at = strstr(at, what)); at++) {
        const char *line = at;
        while (line > text && line[-1] != '\n')
            line--;
        if (strncmp(line, "{\"ph\":\"X\"", 9) == 0)
            return true;
    }
    return false;
}

/* Ends the trace and checks it. The caller frees the text. Not inline, see dumps.h. */
static __attribute__((noinline, unused)) char *end_record(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    CHECK(file);
    CHECK_IS(0, lt_trace_end_record(file));
    CHECK_IS(0, fclose(file));
    check_trace(text);
    return text;
}

/* ---- a program to be traced ---- */

/* Each kind of thing that is traced, at full speed until `enough`. */
struct mill {
    leat_scope *scope;
    leat_chan *there, *back; /* older than the trace */
    _Atomic bool enough;
    _Atomic unsigned passed, walked, opened, threaded; /* turns of each kind */
};

struct mill_block {
    leat_block block;
    struct mill *mill;
};

static inline void mill_turn(_Atomic unsigned *turns)
{
    atomic_fetch_add_explicit(turns, 1, memory_order_relaxed);
}

static inline int mill_asks(void *arg)
{
    struct mill *m = arg;
    int item = 0;
    while (!atomic_load(&m->enough)) {
        CHECK_IS(0, leat_send(m->there, &item));
        CHECK_IS(0, leat_recv(m->back, &item));
        mill_turn(&m->passed);
    }
    return leat_close(m->there);
}

static inline int mill_answers(void *arg)
{
    struct mill *m = arg;
    for (int item; leat_recv(m->there, &item) == 0;)
        CHECK_IS(0, leat_send(m->back, &item));
    return 0;
}

static inline int mill_walks(leat_block *b)
{
    struct mill *m = ((struct mill_block *)(void *)b)->mill;
    LEAT_BEGIN(b);
    while (!atomic_load(&m->enough)) {
        mill_turn(&m->walked);
        LEAT_AWAIT_YIELD(b);
    }
    LEAT_END(b);
}

static inline int mill_child(void *ch)
{
    int item = 1;
    return leat_send(ch, &item);
}

/* Scopes, channels and tasks that come and go. */
static inline int mill_open_many(struct mill *m, _Atomic unsigned *turns)
{
    while (!atomic_load(&m->enough)) {
        int item;
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        leat_chan *ch = leat_chan_of(s, int, 1);
        CHECK(ch);
        CHECK_IS(0, leat_go_named(s, mill_child, ch, "child \"\\\n\xff\xc3\xa4", 0));
        CHECK_IS(0, leat_recv(ch, &item));
        CHECK_IS(0, leat_scope_close(s));
        mill_turn(turns);
        if (lt_current_worker())
            leat_yield();
        else
            nap();
    }
    return 0;
}

static inline int mill_opens(void *arg)
{
    return mill_open_many(arg, &((struct mill *)arg)->opened);
}

static inline int mill_opens_in_thread(void *arg)
{
    return mill_open_many(arg, &((struct mill *)arg)->threaded);
}

/* Starts it, in the caller's scope: `block` stays until the end. */
static inline void mill_start(struct mill *m, struct mill_block *block)
{
    *block = (struct mill_block){ .mill = m };
    m->there = leat_chan_of(m->scope, int, 0);
    m->back = leat_chan_of(m->scope, int, 0);
    CHECK(m->there && m->back);
    CHECK_IS(0, leat_go_named(m->scope, mill_asks, m, "asks", 0));
    CHECK_IS(0, leat_go_named(m->scope, mill_answers, m, "answers", 0));
    CHECK_IS(0, leat_go_named(m->scope, mill_opens, m, "opens", 0));
    CHECK_IS(0, leat_go_blocking_named(m->scope, mill_opens_in_thread, m, "thread"));
    CHECK_IS(0, leat_go_block(m->scope, &block->block, mill_walks));
}

/* Until each kind has made some more turns. */
static inline void mill_wait(struct mill *m, unsigned turns)
{
    unsigned passed = m->passed, walked = m->walked;
    unsigned opened = m->opened, threaded = m->threaded;
    WAIT_UNTIL(m->passed - passed >= turns && m->walked - walked >= turns &&
               m->opened - opened >= turns && m->threaded - threaded >= turns);
}
