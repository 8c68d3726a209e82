/* hunt: two bugs that hardly ever show, found by running the program with one seed after another.
 *
 * A bank's clerks add to one balance. Between reading and writing the balance, each clerk sends to
 * the journal. The journal has room, so on one worker no send waits and all is well. But a sender
 * may be interrupted, or there may be two workers: then what another clerk has written meanwhile is
 * lost. And two transfers lock two accounts each, in opposite orders: if each has locked its first,
 * neither can lock its second.
 *
 * Standard error shows what leat reports of a run that fails: the seed and the last turns. With
 * LEAT_SEED=n in the environment, only that run is repeated. */
#include <leat/leat.h>

#include <stdbool.h>
#include <stdio.h>

enum { CLERKS = 3, SEEDS = 1000, SOON = 100 };

/* ---- a lost update ---- */

struct bank {
    bool careful; /* whether clerks lock, which mends the bug */
    int balance;
    leat_chan *journal, *lock;
};

static int add_one(void *arg)
{
    struct bank *bank = arg;
    if (bank->careful && leat_send(bank->lock, NULL) != 0)
        return 0;
    int seen = bank->balance;
    leat_send(bank->journal, &seen);
    bank->balance = seen + 1;
    if (bank->careful)
        leat_recv(bank->lock, NULL);
    return leat_chan_done(bank->journal);
}

/* Returns 0 if the balance is right. `arg` is not NULL for careful clerks. */
static int clerks(void *arg)
{
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct bank bank = { .careful = arg != NULL,
                         .journal = leat_chan_of(s, int, CLERKS),
                         .lock = leat_chan_make(s, 0, 1) };
    leat_chan_senders(bank.journal, CLERKS);
    for (int i = 0; i < CLERKS; i++)
        leat_go(s, add_one, &bank);
    while (leat_recv(bank.journal, NULL) == 0) {
    }
    int result = leat_scope_close(s);
    return result ? result : bank.balance != CLERKS;
}

/* ---- a deadlock ---- */

struct transfer {
    leat_chan *first, *second; /* locks: a task that has sent to one holds it */
};

static int transfer(void *arg)
{
    struct transfer *t = arg;
    if (leat_send(t->first, NULL) == 0 && leat_send(t->second, NULL) == 0) {
        leat_recv(t->second, NULL);
        leat_recv(t->first, NULL);
    }
    return 0;
}

static int transfers(void *arg)
{
    bool in_order = arg != NULL;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *a = leat_chan_make(s, 0, 1), *b = leat_chan_make(s, 0, 1);
    leat_go(s, transfer, &(struct transfer){ a, b });
    leat_go(s, transfer, in_order ? &(struct transfer){ a, b } : &(struct transfer){ b, a });
    return leat_scope_close(s);
}

/* ---- time ---- */

/* Looks once a second for a week, which takes a moment. */
static int week(void *arg)
{
    int64_t end = leat_after(7 * 24 * 3600 * LEAT_S);
    for (*(int *)arg = 0; leat_now() < end; ++*(int *)arg)
        leat_sleep(LEAT_S);
    return 0;
}

int main(void)
{
    if (leat_sim_each(0, SOON, clerks, NULL) != 0)
        printf("a lost update was found within %d runs\n", SOON);
    if (leat_sim_each(0, SEEDS, clerks, &(int){ 1 }) == 0)
        printf("the careful clerks made no mistake in %d\n", SEEDS);
    if (leat_sim_each(0, SOON, transfers, NULL) != 0)
        printf("a deadlock was found within %d runs\n", SOON);
    if (leat_sim_each(0, SEEDS, transfers, &(int){ 1 }) == 0)
        printf("in order, there was none in %d\n", SEEDS);
    int looks;
    if (leat_sim(0, week, &looks) == 0)
        printf("looked %d times in a week\n", looks);
    return 0;
}
