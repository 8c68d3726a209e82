/* resolve.c: finds the addresses of names by questions to the system, on threads of the pool.
 *
 * A question is on the list `asked` while a thread asks it, and on `queued` while it waits for one
 * of LT_NET_AT_ONCE threads. Callers with an equal question join it. It is freed when its callers
 * and its thread have left; a queued question is freed with its last caller.
 *
 * Locking. One lock guards the lists, all references and all waiters. */
#define _GNU_SOURCE
#include "net/net.h"

#include "base/alloc.h"
#include "base/world.h"
#include "sched/pool.h"
#include "scope/crowd.h"

#include <netdb.h>
#include <string.h>

enum { LT_NET_AT_ONCE = 32 };

struct question {
    struct lt_work work;
    struct lt_node node, callers;
    unsigned references; /* one for each caller and, until it has been asked, one for its list */
    bool is_queued;
    int result; /* the number of addresses, or a negative errno value */
    char host[LT_NET_HOST], service[LT_NET_HOST];
    leat_address addresses[LT_NET_ADDRESSES];
};

static struct {
    struct lt_lock lock;
    struct lt_node asked, queued;
    unsigned at_once;
} all = { .asked = { &all.asked, &all.asked }, .queued = { &all.queued, &all.queued } };

/* ---- asking ---- */

static int error_of(int code)
{
    /* Then the C library cannot open its files or sockets, and may report that a name does not
     * exist. */
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
        return -errno;
    switch (code) {
    case EAI_AGAIN:
    case EAI_SYSTEM: return -EHOSTDOWN;
    case EAI_MEMORY: return -ENOMEM;
    case EAI_NONAME:
    case EAI_SERVICE:
    case EAI_NODATA:
    case EAI_ADDRFAMILY: return -ENOENT;
    default: return -EPROTO;
    }
}

static bool is_among(const leat_address *addresses, int n, const struct addrinfo *info)
{
    for (int i = 0; i < n; i++)
        if (addresses[i].size == info->ai_addrlen &&
            memcmp(&addresses[i].at, info->ai_addr, info->ai_addrlen) == 0)
            return true;
    return false;
}

/* The system's list has each address once for each type of socket. */
static int ask_system(const char *host, const char *service, leat_address *addresses)
{
    struct addrinfo *list;
    errno = 0;
    int n = 0, code = getaddrinfo(host, service, &(struct addrinfo){ 0 }, &list);
    if (code)
        return error_of(code);
    for (struct addrinfo *info = list; info && n < LT_NET_ADDRESSES; info = info->ai_next) {
        bool usable = info->ai_family == AF_INET || info->ai_family == AF_INET6;
        if (!usable || is_among(addresses, n, info))
            continue;
        memcpy(&addresses[n].at, info->ai_addr, info->ai_addrlen);
        addresses[n++].size = info->ai_addrlen;
    }
    freeaddrinfo(list);
    return n ? n : -ENOENT;
}

lt_net_asks *_Atomic lt_net_ask = ask_system;

/* Under the lock. */
static void let_go(struct question *question)
{
    if (--question->references == 0)
        lt_free(question);
}

/* Wakes the callers. Returns the next question from the queue, for the same thread, or NULL. */
static struct question *answered(struct question *question)
{
    struct lt_party *woken = NULL;
    lt_lock(&all.lock);
    lt_list_remove(&question->node);
    while (lt_crowd_take(&question->callers, &woken))
        continue;
    let_go(question);
    struct question *next = LT_FIRST(&all.queued, struct question, node);
    if (next) {
        lt_list_remove(&next->node);
        lt_list_append(&all.asked, &next->node);
        next->is_queued = false;
    } else {
        all.at_once--;
    }
    lt_unlock(&all.lock);
    lt_ready_all(woken);
    return next;
}

static void ask(struct lt_work *work)
{
    struct question *question = LT_CONTAINER(work, struct question, work);
    while (question) {
        lt_net_asks *asks = atomic_load_explicit(&lt_net_ask, memory_order_acquire);
        question->result = asks(question->host, question->service, question->addresses);
        question = answered(question);
    }
}

/* If there is no thread for it, the callers get the error. */
static void submit(struct question *question)
{
    int error;
    while (question && (error = lt_pool_submit(&question->work)) != 0) {
        question->result = error;
        question = answered(question);
    }
}

/* ---- callers ---- */

static struct question *find_in(const struct lt_node *list, const struct question *like)
{
    for (struct lt_node *node = list->next; node != list; node = node->next) {
        struct question *question = LT_CONTAINER(node, struct question, node);
        if (strcmp(question->host, like->host) == 0 &&
            strcmp(question->service, like->service) == 0)
            return question;
    }
    return NULL;
}

static struct question *make(const char *host, const char *service)
{
    struct question *question = lt_alloc(sizeof *question);
    if (!question)
        return NULL;
    lt_list_init(&question->callers);
    question->work.run = ask;
    /* leat_resolve has checked their lengths. */
    memcpy(question->host, host, strlen(host) + 1);
    memcpy(question->service, service, strlen(service) + 1);
    return question;
}

/* Under the lock: puts a new question on its list. True: the caller must submit it. */
static bool enter(struct question *question)
{
    question->references = 1;
    question->is_queued = all.at_once == LT_NET_AT_ONCE;
    lt_list_append(question->is_queued ? &all.queued : &all.asked, &question->node);
    all.at_once += !question->is_queued;
    return !question->is_queued;
}

static void leave(struct question *question)
{
    lt_lock(&all.lock);
    if (question->is_queued && question->references == 2) {
        lt_list_remove(&question->node);
        question->references--;
    }
    let_go(question);
    lt_unlock(&all.lock);
}

/* Asks `mine`, or joins an equal question and frees `mine`. */
static int share(struct question *mine, leat_address *addresses, size_t n, int64_t deadline)
{
    struct lt_crowd_waiter waiter = { 0 };
    lt_lock(&all.lock);
    struct question *found = find_in(&all.asked, mine), *question;
    if (!found)
        found = find_in(&all.queued, mine);
    bool is_new = !found && enter(mine);
    question = found ? found : mine;
    question->references++;
    lt_crowd_join(&all.lock, &question->callers, &waiter, LT_FOR_CALL,
                  (const void *)(uintptr_t)leat_resolve);
    lt_unlock(&all.lock);
    if (found)
        lt_free(mine);
    if (is_new)
        submit(mine);
    int result = lt_wait_park(&waiter.wait, deadline);
    if (!result)
        result = question->result;
    for (size_t i = 0; result > 0 && i < n && i < (size_t)result; i++)
        addresses[i] = question->addresses[i];
    leave(question);
    return result > 0 && (size_t)result > n ? (int)n : result;
}

int leat_resolve(const char *host, const char *service, leat_address *addresses, size_t n,
                 int64_t deadline)
{
    if (!host || !*host || !service || !*service || !addresses || !n || deadline < 0)
        return -EINVAL;
    if (strlen(host) >= LT_NET_HOST || strlen(service) >= LT_NET_HOST)
        return -ENAMETOOLONG;
    leat_address number;
    int saved = errno, is_number = lt_net_number(host, service, &number);
    errno = saved;
    if (is_number > 0)
        *addresses = number;
    if (is_number)
        return is_number;
    if (lt_world() || !lt_running())
        return lt_world() ? -ENOTSUP : -EINVAL;
    int error = deadline == LEAT_NOW ? -EAGAIN : lt_wait_prepare(lt_current_party());
    if (error)
        return error;
    struct question *mine = make(host, service);
    return mine ? share(mine, addresses, n, deadline) : -ENOMEM;
}
