/* crawler_sockets: visits every page of a site over HTTP, four at a time.
 *
 *     crawler_sockets ADDRESS PATH    a site of others, for instance that of the example http_files
 *     crawler_sockets                 pages of its own, which it serves as http_files does
 *
 * It begins at PATH, and follows what is written as href="/…". Pages link in circles. Four tasks
 * fetch at a time, each with a connection of its own. The program ends when no page is left to
 * visit.
 *
 *     to visit ──▶ fetch, 4 tasks ──▶ found
 *         ▲                              │
 *         └── links not seen before ◀────┘
 *
 * A task that waits for its page costs a stack and no thread. crawler.c does the same with blocking
 * sockets, and needs a thread for each fetch. */
#include "http_server.h"

#include <stdatomic.h>

enum { MOST = 1000, LINKS = 8, NAME = 64, AT_ONCE = 4, FETCH_S = 30 };

struct path {
    char text[NAME];
};

struct page {
    struct path path;
    int error, status, n;
    struct path links[LINKS];
};

struct crawl {
    const char *address;
    struct path *seen; /* in the order of finding, and to be visited in that order */
    struct page *pages;
    int found, sent, visited;
};

/* ---- fetching a page ---- */

static _Atomic int at_once, most_at_once;

static void note_start(void)
{
    int now = atomic_fetch_add(&at_once, 1) + 1, most = atomic_load(&most_at_once);
    while (now > most && !atomic_compare_exchange_weak(&most_at_once, &most, now)) {
    }
}

/* One link of a line at most; those that do not fit are not followed. */
static void find_link(const char *line, struct page *page)
{
    const char *from = strstr(line, "href=\"/");
    const char *to = from ? strchr(from + 6, '"') : NULL;
    if (to && to - (from + 6) < NAME && page->n < LINKS)
        snprintf(page->links[page->n++].text, NAME, "%.*s", (int)(to - (from + 6)), from + 6);
}

/* Reads the answer to its end: a line with the status, headers, and the lines of the page. */
static int read_page(leat_chan *lines, struct page *page)
{
    int error;
    for (leat_line line; (error = leat_recv(lines, &line)) == 0; leat_line_free(&line)) {
        if (!page->status && sscanf(line.text, "HTTP/1.1 %d", &page->status) != 1)
            page->status = -1;
        find_link(line.text, page);
    }
    return error == -EPIPE && page->status ? 0 : error;
}

/* The scope has the deadline of everything in it, and closes the connection. */
static int fetch(void *arg, const void *in, void *out)
{
    static const leat_lines_options http = { .crlf = 1 };
    const char *address = arg;
    struct page *page = out;
    char request[256];
    note_start();
    *page = (struct page){ .path = *(const struct path *)in };
    int n = snprintf(request, sizeof request,
                     "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", page->path.text,
                     address);
    leat_io *connection;
    leat_chan *lines;
    leat_scope *s = leat_scope_open(leat_after(FETCH_S * LEAT_S));
    page->error = leat_connect(s, address, &connection, LEAT_NEVER);
    if (!page->error && leat_write(connection, request, (size_t)n) != n)
        page->error = -EPIPE;
    if (!page->error)
        page->error = leat_lines(s, connection, &http, &lines);
    if (!page->error)
        page->error = read_page(lines, page);
    int why = leat_scope_close(s);
    page->error = why ? why : page->error;
    atomic_fetch_sub(&at_once, 1);
    return 0;
}

/* ---- the crawl ---- */

static void find(struct crawl *crawl, const struct path *path)
{
    for (int i = 0; i < crawl->found; i++)
        if (strcmp(crawl->seen[i].text, path->text) == 0)
            return;
    if (crawl->found < MOST)
        crawl->seen[crawl->found++] = *path;
}

/* One task knows which pages were seen, so there is no lock. It sends and receives in one select,
 * so that a full stage never waits for itself. */
static void visit_all(struct crawl *crawl)
{
    struct page page;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *to_visit = leat_chan_of(s, struct path, 0);
    leat_chan *fetched = leat_pipeline(s, to_visit,
                                       &(leat_pipeline_spec){ .n = AT_ONCE,
                                                              .run = fetch,
                                                              .arg = (void *)crawl->address,
                                                              .unordered = 1,
                                                              .out_size = sizeof page });
    while (fetched && crawl->visited < crawl->found) {
        leat_chan *next = crawl->sent < crawl->found ? to_visit : NULL;
        leat_case cases[] = { LEAT_RECV(fetched, &page),
                              LEAT_SEND(next, &crawl->seen[crawl->sent % MOST]) };
        int which = leat_select(cases, 2, LEAT_NEVER);
        if (which < 0 || cases[which].status)
            break;
        if (which == 1) {
            crawl->sent++;
            continue;
        }
        crawl->pages[crawl->visited++] = page;
        for (int i = 0; i < page.n; i++)
            find(crawl, &page.links[i]);
    }
    leat_close(to_visit);
    leat_scope_close(s);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct page *)a)->path.text, ((const struct page *)b)->path.text);
}

static void report(const struct crawl *crawl)
{
    qsort(crawl->pages, (size_t)crawl->visited, sizeof *crawl->pages, by_path);
    for (int i = 0; i < crawl->visited; i++) {
        const struct page *page = &crawl->pages[i];
        if (page->error)
            printf("%s: %s\n", page->path.text, strerror(-page->error));
        else
            printf("%s: %d, %d links\n", page->path.text, page->status, page->n);
    }
    printf("%d pages, %s than four at once\n", crawl->visited,
           most_at_once > AT_ONCE ? "more" : "never more");
}

static int crawl_site(const char *address, const char *path)
{
    struct crawl crawl = { .address = address, .found = 1 };
    crawl.seen = calloc(MOST, sizeof *crawl.seen);
    crawl.pages = calloc(MOST, sizeof *crawl.pages);
    int error = crawl.seen && crawl.pages ? 0 : -ENOMEM;
    if (!error) {
        snprintf(crawl.seen[0].text, NAME, "%s", path);
        visit_all(&crawl);
        report(&crawl);
        if (crawl.visited < crawl.found || crawl.pages[0].error)
            error = -EIO;
    }
    free(crawl.seen);
    free(crawl.pages);
    return error;
}

/* ---- a site of its own ---- */

enum { PAGES = 40 };

static int crawl_own(void *listener)
{
    char address[LEAT_ADDRESS_TEXT];
    leat_io_local_text(listener, address, sizeof address);
    int error = crawl_site(address, "/0");
    kill(getpid(), SIGINT); /* the server ends as by Ctrl-C */
    return error;
}

/* Page n links to 2n + 1, 2n + 2 and n / 2. Page 9 links to the folder, which the server does not
 * show, and the last page to one that is missing. */
static void write_page(const char *folder, int n)
{
    char path[64], third[16];
    snprintf(path, sizeof path, "%s/%d", folder, n);
    snprintf(third, sizeof third, "%d", n == PAGES - 1 ? PAGES : n / 2);
    FILE *file = fopen(path, "w");
    if (!file)
        return;
    fprintf(file, "<a href=\"/%d\">\n<a href=\"/%d\">\n<a href=\"/%s\">\n", (2 * n + 1) % PAGES,
            (2 * n + 2) % PAGES, n == 9 ? "" : third);
    fclose(file);
}

static int serve_and_crawl(void)
{
    char folder[] = "/tmp/crawler.XXXXXX", path[64];
    if (!mkdtemp(folder))
        return -errno;
    for (int n = 0; n < PAGES; n++)
        write_page(folder, n);
    int error = http_serve("127.0.0.1:0", folder, crawl_own);
    for (int n = 0; n < PAGES; n++) {
        snprintf(path, sizeof path, "%s/%d", folder, n);
        unlink(path);
    }
    rmdir(folder);
    return error;
}

static int run(void *arg)
{
    char **argv = arg;
    return argv[1] ? crawl_site(argv[1], argv[2]) : serve_and_crawl();
}

int main(int argc, char **argv)
{
    if (argc != 1 && argc != 3) {
        fprintf(stderr, "usage: crawler_sockets [ADDRESS PATH]\n");
        return 2;
    }
    int error = leat_main(run, argv);
    if (error < 0)
        fprintf(stderr, "crawler_sockets: %s\n", strerror(-error));
    return error < 0;
}
