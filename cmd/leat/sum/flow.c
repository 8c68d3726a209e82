#include "flow.h"

#include "device.h"
#include "halt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void end(struct flow *f)
{
    halt_now();
    leat_scope_cancel(f->scope);
}

/* Records that a task failed, and ends the other tasks. A task calls this before it closes its
 * channels, since afterwards its work looks finished. -ECANCELED is no failure. */
static void record_failure(struct flow *f, int err)
{
    if (err == 0 || err == -ECANCELED)
        return;
    int none = 0;
    atomic_compare_exchange_strong(&f->failure, &none, err);
    end(f);
}

static int produce_task(void *arg)
{
    struct flow *f = arg;
    record_failure(f, f->produce(f, f->producer));
    goal_end(&f->goal);
    leat_close(f->todo);
    leat_chan_done(f->done);
    return 0;
}

static int digester_task(void *arg)
{
    struct flow *f = arg;
    record_failure(f, digest_task(f));
    leat_chan_done(f->done);
    return 0;
}

static int collector_task(void *arg)
{
    struct flow *f = arg;
    record_failure(f, collect_task(f));
    end(f);
    return 0;
}

/* leat's -ENOMEM does not say what the system lacked; it is nearly always threads. */
static int start_task(struct flow *f, leat_fn *fn)
{
    int err = leat_go_blocking(f->scope, fn, f);
    return err == -ENOMEM ? -EAGAIN : err;
}

static int start(struct flow *f)
{
    f->spare = leat_chan_of(f->scope, struct chain, FLOW_WINDOW);
    f->todo = leat_chan_of(f->scope, struct slot *, FLOW_WINDOW);
    f->done = leat_chan_of(f->scope, struct chain, FLOW_WINDOW);
    f->wakeup = leat_chan_make(f->scope, 0, 1);
    if (!f->spare || !f->todo || !f->done || !f->wakeup)
        return -ENOMEM;
    /* The producer is the first sender; it adds the digesters as it starts them. */
    int err = leat_chan_senders(f->done, 1);
    if (!err)
        err = start_task(f, collector_task);
    if (!err)
        err = start_task(f, produce_task);
    return err;
}

static int run(struct flow *f)
{
    f->scope = leat_scope_open(LEAT_NEVER);
    if (!f->scope)
        return -ENOMEM;
    devices_open(f->scope, f->readers);
    record_failure(f, start(f));
    int err = leat_scope_close(f->scope);
    dirs_notify(NULL, 0);
    devices_close();
    int failure = atomic_load(&f->failure);
    return failure ? failure : err == -ECANCELED ? 0 : err;
}

static void wipe_slots(struct flow *f)
{
    for (size_t i = 0; i < f->slots_used; i++) {
        flow_wipe(f, &f->slots[i]);
        free(f->slots[i].name);
    }
    free(f->slots);
    free(f->digests);
    free(f->stamps);
}

int flow_run(struct flow *f)
{
    f->slots_used = 0;
    f->slots = calloc(FLOW_WINDOW, sizeof *f->slots);
    f->digests = calloc(FLOW_WINDOW, f->room);
    f->stamps = f->cache ? calloc(FLOW_WINDOW, sizeof *f->stamps) : NULL;
    bool whole = f->slots && f->digests && (f->stamps || !f->cache);
    int err = whole ? run(f) : -ENOMEM;
    wipe_slots(f);
    return err;
}

/* Waits for one more chain of spare slots, or for the wakeup. */
static int wait_for_slots(struct flow *f)
{
    struct chain more;
    leat_case cases[] = { LEAT_RECV(f->spare, &more), LEAT_RECV(f->wakeup, NULL) };
    int chosen = leat_select(cases, 2, LEAT_NEVER);
    if (chosen < 0)
        return chosen;
    if (chosen == 0 && cases[0].status == 0)
        chain_join(&f->at_hand, more);
    return cases[chosen].status;
}

int flow_settle(struct flow *f, bool (*enough)(const void *arg), const void *arg)
{
    while (f->at_hand.count < f->slots_used && !(enough && enough(arg))) {
        int err = wait_for_slots(f);
        if (err)
            return err;
    }
    return 0;
}

/* Prefers a slot that has come back, which is in the core's cache, to one never used. */
static struct slot *spare_slot(struct flow *f, int *err)
{
    struct chain more;
    if (!f->at_hand.first && leat_try_recv(f->spare, &more) == 0)
        chain_join(&f->at_hand, more);
    if (!f->at_hand.first && f->slots_used < FLOW_WINDOW) {
        size_t i = f->slots_used++;
        struct slot *s = &f->slots[i];
        s->digest = f->digests + i * f->room;
        s->stamp = f->stamps ? &f->stamps[i] : NULL;
        return s;
    }
    while (!*err && !f->at_hand.first)
        *err = wait_for_slots(f);
    return *err ? NULL : chain_take(&f->at_hand);
}

static bool long_names_are_few(const void *arg)
{
    const struct flow *f = arg;
    return atomic_load_explicit(&f->long_names, memory_order_relaxed) < FLOW_LONG_TOTAL;
}

static int set_name(struct flow *f, struct slot *s, const char *name, size_t len)
{
    if (len >= s->name_cap) {
        size_t cap = len + 1 < 32 ? 32 : len + 1;
        char *bytes = realloc(s->name, cap);
        if (!bytes)
            return -ENOMEM;
        s->name = bytes;
        s->name_cap = cap;
        if (cap > FLOW_LONG_NAME)
            atomic_fetch_add_explicit(&f->long_names, cap, memory_order_relaxed);
    }
    memcpy(s->name, name, len);
    s->name[len] = '\0';
    s->name_len = len;
    return 0;
}

struct slot *flow_take(struct flow *f, const char *name, size_t len, int *err)
{
    *err = len >= FLOW_LONG_NAME ? flow_settle(f, long_names_are_few, f) : 0;
    struct slot *s = *err ? NULL : spare_slot(f, err);
    if (!s)
        return NULL;
    *s = (struct slot){
        .name = s->name, .name_cap = s->name_cap, .digest = s->digest, .stamp = s->stamp
    };
    if (s->stamp)
        *s->stamp = (struct stamp){ 0 };
    *err = set_name(f, s, name, len);
    return *err ? NULL : s;
}

void flow_wipe(struct flow *f, struct slot *s)
{
    if (s->holds_dir)
        dir_drop(s->dir);
    dir_unref(s->dir);
    s->holds_dir = false;
    s->dir = NULL;
    if (s->name_cap > FLOW_LONG_NAME) {
        atomic_fetch_sub_explicit(&f->long_names, s->name_cap, memory_order_relaxed);
        free(s->name);
        s->name = NULL;
        s->name_cap = 0;
    }
}

/* Called for each file until there are as many digesters as allowed: one file needs only one. */
static int start_digester(struct flow *f)
{
    int err = leat_chan_senders(f->done, 1);
    if (err)
        return err;
    err = start_task(f, digester_task);
    if (!err) {
        f->digesters++;
        return 0;
    }
    leat_chan_done(f->done);
    if (f->digesters == 0)
        return err;
    /* Go on with those that exist. */
    f->threads_spent = true;
    return 0;
}

int flow_submit(struct flow *f, struct slot *s)
{
    s->seq = f->next_seq++;
    if (s->kind != SLOT_FILE) {
        struct chain alone = { 0 };
        chain_add(&alone, s);
        return leat_send(f->done, &alone);
    }
    int err = leat_send(f->todo, &s);
    if (!err && f->digesters < f->jobs && !f->threads_spent)
        err = start_digester(f);
    return err;
}

int flow_tell(struct flow *f, struct dir *dir, const char *name, enum slot_kind kind, int error,
              const char *remark)
{
    int err;
    struct slot *s = flow_take(f, name, strlen(name), &err);
    if (!s)
        return err;
    s->kind = kind;
    s->error = error;
    s->remark = remark;
    s->dir = dir;
    if (dir)
        dir_ref(dir);
    return flow_submit(f, s);
}
