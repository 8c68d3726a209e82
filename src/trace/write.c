/* write.c: writes a trace in the "Trace Event Format", for Chrome's trace viewer and Perfetto.
 *
 * Each worker is a track of slices, one for each time that it ran a party. A channel passes items
 * on in order: so the n-th sent item is also the n-th received, and a flow leads from its send to
 * its receive. If the sender had to wait, the flow begins where the sender ran last; if the
 * receiver had to wait, it ends where the receiver ran next. Threads have no slices, and so no
 * flows.
 *
 * Each pass over the events sees the same events, though late ones may still be appended: each
 * track is taken once. */
#include "trace/write.h"

#include "base/alloc.h"
#include "dump/print.h"
#include "trace/events.h"

#include <errno.h>
#include <stdlib.h>

struct slice {
    uint64_t party;
    int64_t from, to;
    const char *name; /* of a block */
    unsigned track;
    bool is_task;
};

/* What a number stands for: a named task or channel; a scope that was opened during the trace, or
 * that the look found. */
enum about { TASK, CHANNEL, OPENED, OLDER };

struct fact {
    uint64_t key; /* its kind, and the number */
    const char *text;
};

/* An item at one end of a channel. */
struct item {
    uint32_t channel;
    bool sent, partner; /* partner: by `party`, which waited; else by the party on `track` */
    unsigned track;
    uint64_t party;
    int64_t at;
    size_t order;
};

struct story {
    const struct lt_recording *of;
    int64_t begin, end;
    struct lt_track *tracks; /* of the workers and of the threads, from the beginning */
    struct slice *slices;
    struct item *items;
    struct fact *facts;
    size_t slice_count, item_count, fact_count;
};

struct counts {
    size_t slices, items, facts;
};

/* ---- reading the events ---- */

/* The track's next event that belongs to the trace. */
static const struct lt_event *next_event(const struct story *s, struct lt_track *track)
{
    const struct lt_event *e = lt_track_next(track);
    return e && s->of->late && e->at > s->of->end ? NULL : e;
}

static void count(struct story *s, const struct lt_event *e, struct counts *counts)
{
    if ((!s->begin && !s->of->late) || e->at < s->begin)
        s->begin = e->at;
    if (e->at > s->end)
        s->end = e->at;
    switch ((enum lt_event_kind)e->kind) {
    case LT_EV_RUNS: counts->slices++; break;
    case LT_EV_TASK:
    case LT_EV_CHANNEL:
    case LT_EV_OPENED: counts->facts++; break;
    case LT_EV_SENT:
    case LT_EV_RECEIVED: counts->items += e->count + 1; break;
    case LT_EV_CLOSED: break;
    }
}

static uint64_t key_of(enum about about, uint32_t number)
{
    return (uint64_t)about << 32 | number;
}

static void add_fact(struct story *s, enum about about, uint32_t number, const char *text)
{
    s->facts[s->fact_count++] = (struct fact){ key_of(about, number), text };
}

static void add_item(struct story *s, const struct lt_event *e, unsigned track, bool sent,
                     bool partner)
{
    s->items[s->item_count] = (struct item){ .channel = e->number,
                                             .sent = sent,
                                             .partner = partner,
                                             .track = track,
                                             .party = e->party,
                                             .at = e->at,
                                             .order = s->item_count };
    s->item_count++;
}

static void take(struct story *s, const struct lt_event *e, unsigned track, struct slice **open)
{
    bool sent = e->kind == LT_EV_SENT;
    switch ((enum lt_event_kind)e->kind) {
    case LT_EV_RUNS:
        if (*open)
            (*open)->to = e->at;
        *open = e->party ? &s->slices[s->slice_count++] : NULL;
        if (*open)
            **open = (struct slice){ e->party, e->at, s->end, e->text, track, e->number != 0 };
        break;
    case LT_EV_TASK: add_fact(s, TASK, e->number, e->text); break;
    case LT_EV_CHANNEL: add_fact(s, CHANNEL, e->number, e->text); break;
    case LT_EV_SENT:
    case LT_EV_RECEIVED:
        for (uint64_t i = 0; i < e->count; i++)
            add_item(s, e, track, sent, false);
        if (e->party)
            add_item(s, e, track, !sent, true);
        break;
    case LT_EV_OPENED: add_fact(s, OPENED, e->number, NULL); break;
    case LT_EV_CLOSED: break;
    }
}

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int by_key(const void *a, const void *b)
{
    const struct fact *x = a, *y = b;
    return compare(x->key, y->key);
}

static int by_party(const void *a, const void *b)
{
    const struct slice *x = a, *y = b;
    int order = compare(x->party, y->party);
    return order ? order : compare((uint64_t)x->from, (uint64_t)y->from);
}

/* By channel, then sent before received, then by time. */
static int by_channel(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    int order = compare(x->channel, y->channel);
    if (!order)
        order = compare(y->sent, x->sent);
    if (!order)
        order = compare((uint64_t)x->at, (uint64_t)y->at);
    return order ? order : compare(x->order, y->order);
}

static bool take_tracks(struct story *s)
{
    s->tracks = lt_alloc((s->of->workers + 1) * sizeof *s->tracks);
    for (unsigned i = 0; s->tracks && i <= s->of->workers; i++)
        s->tracks[i] = lt_trace_track(i);
    return s->tracks != NULL;
}

static bool make_room(struct story *s)
{
    const struct lt_look *look = &s->of->look;
    struct counts n = { s->of->workers + 1, 0, look->record_count + look->scope_count };
    const struct lt_event *e;
    for (unsigned i = 0; i <= s->of->workers; i++)
        for (struct lt_track track = s->tracks[i]; (e = next_event(s, &track));)
            count(s, e, &n);
    s->slices = lt_alloc_unset((n.slices + 1) * sizeof *s->slices);
    s->items = lt_alloc_unset((n.items + 1) * sizeof *s->items);
    s->facts = lt_alloc_unset((n.facts + 1) * sizeof *s->facts);
    return s->slices && s->items && s->facts;
}

/* Takes the names of tasks, and the scopes, from the look. */
static void take_look(struct story *s)
{
    const struct lt_look *look = &s->of->look;
    for (size_t i = 0; i < look->record_count; i++)
        if (look->records[i]->thing == LT_A_TASK)
            add_fact(s, TASK, look->records[i]->number, look->records[i]->name);
    for (size_t i = 0; i < look->scope_count; i++)
        add_fact(s, OLDER, look->scopes[i].number, NULL);
}

/* The task that the worker has run since the beginning, or NULL: the look saw it there, and no
 * event came before. */
static const struct lt_record *runs_first(const struct story *s, unsigned i)
{
    if (i >= s->of->workers || !s->of->look.workers)
        return NULL;
    struct lt_track track = s->tracks[i];
    const struct lt_event *e;
    while ((e = next_event(s, &track)))
        if (e->kind == LT_EV_RUNS)
            break;
    return e && e->at < s->of->looked ? NULL : s->of->look.workers[i].running;
}

static void read_track(struct story *s, unsigned i)
{
    struct slice *open = NULL;
    const struct lt_record *first = runs_first(s, i);
    const struct lt_event *e;
    int64_t last = s->of->begin;
    if (first) {
        open = &s->slices[s->slice_count++];
        *open = (struct slice){ first->number, s->of->begin, s->end, NULL, i, true };
    }
    for (struct lt_track track = s->tracks[i]; (e = next_event(s, &track)); last = e->at)
        take(s, e, i, &open);
    /* When the list was full, nobody noted the end of this slice. */
    if (open && s->tracks[i].lost)
        open->to = last;
}

static bool read_events(struct story *s)
{
    if (!take_tracks(s) || !make_room(s))
        return false;
    take_look(s);
    for (unsigned i = 0; i <= s->of->workers; i++)
        read_track(s, i);
    qsort(s->slices, s->slice_count, sizeof *s->slices, by_party);
    qsort(s->items, s->item_count, sizeof *s->items, by_channel);
    qsort(s->facts, s->fact_count, sizeof *s->facts, by_key);
    return true;
}

static const struct fact *find(const struct story *s, enum about about, uint32_t number)
{
    return bsearch(&(struct fact){ .key = key_of(about, number) }, s->facts, s->fact_count,
                   sizeof *s->facts, by_key);
}

/* ---- writing ---- */

/* Writes nanoseconds as microseconds. */
static void put_time(FILE *to, const char *key, int64_t ns)
{
    fprintf(to, ",\"%s\":%lld.%03lld", key, (long long)ns / 1000, (long long)ns % 1000);
}

static void put_head(FILE *to, const char *phase, unsigned track)
{
    fprintf(to, ",\n{\"ph\":\"%s\",\"pid\":1,\"tid\":%u", phase, track + 1);
}

static void put_slice(FILE *to, const struct story *s, const struct slice *slice)
{
    const struct fact *task = slice->is_task ? find(s, TASK, (uint32_t)slice->party) : NULL;
    const char *name = task ? task->text : slice->name;
    put_head(to, "X", slice->track);
    put_time(to, "ts", slice->from - s->begin);
    put_time(to, "dur", slice->to - slice->from);
    fprintf(to, ",\"cat\":\"%s\",\"name\":", slice->is_task ? "task" : "block");
    lt_print_json(to, name ? name : slice->is_task ? "task" : "block or callback");
    if (slice->is_task)
        fprintf(to, ",\"args\":{\"task\":%u}", (unsigned)slice->party);
    putc('}', to);
}

/* How many slices come before the party's first one that begins at `at` or later. */
static size_t slices_before(const struct story *s, uint64_t party, int64_t at)
{
    size_t low = 0, high = s->slice_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct slice *slice = &s->slices[middle];
        if (slice->party < party || (slice->party == party && slice->from < at))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct end {
    unsigned track;
    int64_t at;
};

/* Finds the slice in which an item was sent or received. False: there is none. */
static bool find_end(const struct story *s, const struct item *item, struct end *end)
{
    if (!item->partner) {
        *end = (struct end){ item->track, item->at };
        return item->track < s->of->workers;
    }
    size_t n = slices_before(s, item->party, item->at);
    const struct slice *before = n > 0 ? &s->slices[n - 1] : NULL;
    const struct slice *after = n < s->slice_count ? &s->slices[n] : NULL;
    if (!item->sent && after && after->party == item->party) {
        *end = (struct end){ after->track, after->from };
        return true;
    }
    if (!before || before->party != item->party)
        return false;
    /* Inside the slice, not at its end. A partner on another worker may have come before the slice
     * was over, or so soon that the slice did not end at all. */
    int64_t last = before->to > before->from ? before->to - 1 : before->from;
    *end = (struct end){ before->track, last < item->at ? last : item->at };
    return item->sent || last >= item->at;
}

static void put_end(FILE *to, const struct story *s, const char *phase, struct end end, size_t id,
                    const struct fact *channel)
{
    put_head(to, phase, end.track);
    put_time(to, "ts", end.at - s->begin);
    fprintf(to, ",\"id\":%zu,\"cat\":\"channel\",\"name\":", id);
    if (channel->text)
        lt_print_json(to, channel->text);
    else
        fprintf(to, "\"channel %u\"", (unsigned)channel->key);
    putc('}', to);
}

/* The items of one channel: those sent, and those received. */
static void put_flows(FILE *to, const struct story *s, size_t first, size_t received, size_t after,
                      size_t *id)
{
    const struct fact *channel = find(s, CHANNEL, s->items[first].channel);
    if (!channel)
        return; /* the channel is older than the trace, so items may have been in it before */
    for (size_t i = 0; first + i < received && received + i < after; i++) {
        struct end from, until;
        if (!find_end(s, &s->items[first + i], &from) ||
            !find_end(s, &s->items[received + i], &until) || until.at < from.at)
            continue;
        put_end(to, s, "s", from, ++*id, channel);
        put_end(to, s, "f\",\"bp\":\"e", until, *id, channel);
    }
}

static void put_all_flows(FILE *to, const struct story *s)
{
    size_t id = 0;
    for (size_t first = 0, received, after; first < s->item_count; first = after) {
        uint32_t channel = s->items[first].channel;
        for (received = first; received < s->item_count && s->items[received].channel == channel &&
                               s->items[received].sent;
             received++) {
        }
        for (after = received; after < s->item_count && s->items[after].channel == channel;
             after++) {
        }
        put_flows(to, s, first, received, after, &id);
    }
}

static void put_scope(FILE *to, const struct story *s, bool opened, int64_t at, uint32_t number,
                      unsigned track)
{
    put_head(to, opened ? "b" : "e", track);
    put_time(to, "ts", at - s->begin);
    fprintf(to, ",\"cat\":\"scope\",\"id\":%u,\"name\":\"scope %u\"}", number, number);
}

/* A scope that is older than the trace begins with the trace. If its beginning is missing, its end
 * is, too. */
static void put_scopes(FILE *to, const struct story *s)
{
    const struct lt_look *look = &s->of->look;
    const struct lt_event *e;
    for (size_t i = 0; i < look->scope_count; i++)
        if (!find(s, OPENED, look->scopes[i].number))
            put_scope(to, s, true, s->of->begin, look->scopes[i].number, s->of->workers);
    for (unsigned i = 0; i <= s->of->workers; i++)
        for (struct lt_track track = s->tracks[i]; (e = next_event(s, &track));)
            if (e->kind == LT_EV_OPENED ||
                (e->kind == LT_EV_CLOSED &&
                 (find(s, OPENED, e->number) || find(s, OLDER, e->number))))
                put_scope(to, s, e->kind == LT_EV_OPENED, e->at, e->number, i);
}

static void put_metadata(FILE *to, const struct lt_recording *of)
{
    fprintf(to, "\"otherData\":{\"lost events\":%llu", (unsigned long long)of->lost);
    if (of->late)
        fputs(",\"arrows\":\"none: the trace began while the program ran\"", to);
    else if (of->lost)
        fputs(",\"arrows\":\"none: events were lost\"", to);
    putc('}', to);
}

static void free_story(struct story *s)
{
    lt_free(s->tracks);
    lt_free(s->slices);
    lt_free(s->items);
    lt_free(s->facts);
}

int lt_trace_write(FILE *to, const struct lt_recording *recording)
{
    struct story story = { .of = recording, .begin = recording->begin, .end = recording->end };
    bool whole = read_events(&story);
    fprintf(to, "{\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":1,\"tid\":1,"
                "\"name\":\"process_name\",\"args\":{\"name\":\"leat\"}}");
    for (unsigned i = 0; i <= recording->workers; i++) {
        put_head(to, "M", i);
        fprintf(to, ",\"name\":\"thread_name\",\"args\":{\"name\":\"");
        fprintf(to, i < recording->workers ? "worker %u\"}}" : "threads\"}}", i);
    }
    for (size_t i = 0; whole && i < story.slice_count; i++)
        put_slice(to, &story, &story.slices[i]);
    if (whole && !recording->late && !recording->lost)
        put_all_flows(to, &story);
    if (whole)
        put_scopes(to, &story);
    fprintf(to, "\n],\n");
    put_metadata(to, recording);
    fprintf(to, "}\n");
    free_story(&story);
    return !whole ? -ENOMEM : ferror(to) ? -EIO : 0;
}
