#include "far.h"

#include <stdlib.h>
#include <string.h>

enum { RUNS_MOST = 1 << 14 };

struct lk_run *lk_run_find(struct lk_far *far, const char *name)
{
    if (!lk_is_name(name))
        return NULL;
    for (struct lk_run *run = far->runs; run; run = run->next)
        if (strcmp(run->keys.run, name) == 0)
            return run;
    struct lk_run *run = far->run_count < RUNS_MOST ? calloc(1, sizeof *run) : NULL;
    if (!run)
        return NULL;
    if (lk_keys_make(&run->keys, far->link, far->spec.stage, name) != 0) {
        free(run);
        return NULL;
    }
    run->next = far->runs;
    far->runs = run;
    far->run_count++;
    return run;
}

static void free_run(struct lk_run *run)
{
    for (struct lk_item *item; (item = run->ended);) {
        lk_item_unlink(item);
        lk_item_free(item);
    }
    lk_keys_free(&run->keys);
    free(run);
}

void lk_runs_clean(struct lk_far *far)
{
    for (struct lk_run **at = &far->runs; *at;) {
        struct lk_run *run = *at;
        if (run->over && !run->held && !run->ended) {
            *at = run->next;
            far->run_count--;
            free_run(run);
        } else {
            at = &run->next;
        }
    }
}

void lk_runs_free(struct lk_far *far)
{
    for (struct lk_run *run; (run = far->runs);) {
        far->runs = run->next;
        free_run(run);
    }
}

int lk_runs_ask(struct lk_far *far)
{
    redisReply *reply;
    lk_request_texts(&far->engine.request, "SMEMBERS", far->keys.runs, NULL);
    int error = lk_engine_ask(&far->engine, &reply, leat_after(far->link->lease));
    if (error)
        return error;
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i < reply->elements; i++) {
        const redisReply *name = reply->element[i];
        struct lk_run *run = name->type == REDIS_REPLY_STRING ? lk_run_find(far, name->str) : NULL;
        if (run)
            run->ready = true;
    }
    freeReplyObject(reply);
    return 0;
}
