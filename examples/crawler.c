/* crawler: visits all pages of a site that it serves itself over the loopback. It fetches four
 * pages at a time, in any order, with a deadline for each page, and tries again if the server is
 * busy. Pages link in circles; some are busy twice, some never answer, one does not exist. The
 * program ends when no page is left to visit.
 *
 *     to visit ──▶ fetch, 4 threads ──▶ found
 *         ▲                               │
 *         └── links not seen before ◀─────┘
 *
 * One task crawls, and it alone knows which pages were seen, so there is no lock. It sends and
 * receives in one select, so that a full stage never waits for itself. */
#include <leat/leat.h>

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PAGES = 30, LINKS = 3, AT_ONCE = 4, DEADLINE_S = 2, TEXT = 256 };

/* ---- the site ---- */

struct site {
    leat_scope *scope;
    int listener;
    struct sockaddr_in address;
    _Atomic int asked[PAGES + 1]; /* how often each page was requested */
};

static int never_answers(int page)
{
    return page % 13 == 7;
}

/* Where a page's third link leads. That of the last page leads to a page that does not exist. */
static int back_from(int page)
{
    return page == PAGES - 1 ? PAGES : page / 2;
}

struct visit {
    struct site *site;
    int socket;
};

/* Answers "GET /5\n" with a line for the status and a line for each link. */
static int answer(void *arg)
{
    struct visit visit = *(struct visit *)arg;
    free(arg);
    char text[TEXT] = "";
    int page = -1;
    ssize_t n = read(visit.socket, text, sizeof text - 1);
    if (n > 0 && sscanf(text, "GET /%d\n", &page) == 1 && page >= 0 && page <= PAGES) {
        int asked = atomic_fetch_add(&visit.site->asked[page], 1) + 1;
        if (never_answers(page)) {
            while (read(visit.socket, text, sizeof text) > 0) {
            }
        } else if (page == PAGES) {
            dprintf(visit.socket, "404\n");
        } else if (page % 5 == 2 && asked < 3) {
            dprintf(visit.socket, "503\n"); /* busy at first */
        } else {
            dprintf(visit.socket, "200\n/%d\n/%d\n/%d\n", (2 * page + 1) % PAGES,
                    (2 * page + 2) % PAGES, back_from(page));
        }
    }
    close(visit.socket);
    return 0;
}

static int serve(void *arg)
{
    struct site *site = arg;
    for (int fd; (fd = accept(site->listener, NULL, NULL)) >= 0;) {
        struct visit *visit = malloc(sizeof *visit);
        if (visit)
            *visit = (struct visit){ site, fd };
        if (!visit || leat_go_blocking(site->scope, answer, visit) != 0) {
            free(visit);
            close(fd);
        }
    }
    return 0;
}

static int open_site(struct site *site)
{
    socklen_t size = sizeof site->address;
    struct sockaddr *address = (struct sockaddr *)&site->address;
    site->address =
        (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    site->listener = socket(AF_INET, SOCK_STREAM, 0);
    if (site->listener < 0 || bind(site->listener, address, size) != 0 ||
        listen(site->listener, 64) != 0 || getsockname(site->listener, address, &size) != 0)
        return -errno;
    return leat_go_blocking(site->scope, serve, site);
}

/* ---- fetching a page ---- */

struct page {
    int number, error, status, tries, n;
    int links[LINKS];
};

struct fetching {
    struct site *site;
    struct page *page;
    int64_t deadline;
};

static _Atomic int at_once, most_at_once;

/* Reads until the other side closes. Blocks, until the deadline at the latest. */
static int read_text(int fd, char *text, size_t size, int64_t deadline)
{
    size_t n = 0;
    for (;;) {
        int64_t left = deadline - leat_now();
        struct pollfd ready = { .fd = fd, .events = POLLIN };
        if (left <= 0 || poll(&ready, 1, (int)(left / LEAT_MS) + 1) == 0)
            return -ETIMEDOUT;
        ssize_t more = read(fd, text + n, size - 1 - n);
        if (more <= 0)
            break;
        n += (size_t)more;
    }
    text[n] = '\0';
    return 0;
}

/* Tries once to fetch the page. */
static int try_page(void *arg)
{
    struct fetching *f = arg;
    struct page *page = f->page;
    char text[TEXT];
    int fd = socket(AF_INET, SOCK_STREAM, 0), error = -EIO;
    page->tries++;
    page->n = 0;
    if (fd >= 0 &&
        connect(fd, (struct sockaddr *)&f->site->address, sizeof f->site->address) == 0 &&
        dprintf(fd, "GET /%d\n", page->number) > 0)
        error = read_text(fd, text, sizeof text, f->deadline);
    if (fd >= 0)
        close(fd);
    if (error)
        return error;
    page->status = atoi(text);
    for (char *at = strchr(text, '/'); at && page->n < LINKS; at = strchr(at + 1, '/'))
        page->links[page->n++] = abs(atoi(at + 1));
    return page->status == 503 ? -EAGAIN : 0;
}

/* Fetches a page, on a thread. The scope's deadline ends the pauses between tries; read_text
 * looks at the deadline itself. */
static int fetch(void *arg, const void *in, void *out)
{
    int now = atomic_fetch_add(&at_once, 1) + 1, most = atomic_load(&most_at_once);
    while (now > most && !atomic_compare_exchange_weak(&most_at_once, &most, now)) {
    }
    struct page *page = out;
    *page = (struct page){ .number = *(const int *)in };
    struct fetching f = { arg, page, leat_after(DEADLINE_S * LEAT_S) };
    leat_scope *s = leat_scope_open(f.deadline);
    if (s) {
        page->error = leat_retry(try_page, &f, &(leat_retrying){ .tries = 5, .pause = LEAT_MS });
        if (leat_scope_close(s) != 0)
            page->error = -ETIMEDOUT;
    }
    atomic_fetch_sub(&at_once, 1);
    return s ? 0 : -ENOMEM;
}

/* ---- the crawl ---- */

static void report(const struct page *page)
{
    if (page->error)
        printf("/%d: %s\n", page->number, strerror(-page->error));
    else
        printf("/%d: %d, %d links, %d %s\n", page->number, page->status, page->n, page->tries,
               page->tries == 1 ? "try" : "tries");
}

static int crawl(struct site *site)
{
    struct page pages[PAGES + 1], page;
    int seen[PAGES + 1] = { 1 }, queue[PAGES + 1] = { 0 }; /* it begins at page 0 */
    int visited = 0, sent = 0, found = 1;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *to_visit = leat_chan_of(s, int, 0);
    leat_chan *fetched = leat_pipeline(s, to_visit,
                                       &(leat_pipeline_spec){ .n = AT_ONCE,
                                                              .run = fetch,
                                                              .arg = site,
                                                              .blocking = 1,
                                                              .unordered = 1,
                                                              .out_size = sizeof page,
                                                              .name = "fetch" });
    while (fetched && visited < found) {
        leat_case cases[] = { LEAT_RECV(fetched, &page),
                              LEAT_SEND(sent < found ? to_visit : NULL, &queue[sent % found]) };
        int which = leat_select(cases, 2, LEAT_NEVER);
        if (which < 0 || cases[which].status)
            break;
        if (which == 1 && ++sent)
            continue;
        pages[page.number] = page;
        visited++;
        for (int i = 0; i < page.n; i++)
            if (page.links[i] <= PAGES && !seen[page.links[i]]++)
                queue[found++] = page.links[i];
    }
    leat_close(to_visit);
    int error = leat_scope_close(s);
    for (int i = 0; i <= PAGES && !error; i++)
        if (seen[i])
            report(&pages[i]);
    printf("%d pages, %s than four at once\n", visited,
           most_at_once > AT_ONCE ? "more" : "never more");
    return error;
}

static int run(void *arg)
{
    (void)arg;
    struct site site = { .scope = leat_scope_open(LEAT_NEVER) };
    int error = open_site(&site);
    if (!error)
        error = crawl(&site);
    shutdown(site.listener, SHUT_RDWR); /* this ends serve */
    leat_scope_close(site.scope);
    close(site.listener);
    return error;
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    return leat_main(run, NULL) < 0;
}
