/* crawler_sockets: visits every page of a site that this program serves itself, over HTTP and the
 * loopback. Four tasks fetch at a time, each with a connection of its own. Pages link in circles;
 * some hang up, one is missing. The program ends when no page is left to visit.
 *
 *     to visit ──▶ fetch, 4 tasks ──▶ found
 *         ▲                              │
 *         └── links not seen before ◀────┘
 *
 * A task that waits for its page costs a stack and no thread. crawler.c does the same with blocking
 * sockets, and needs a thread for each fetch. */
#include <leat/leat.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGES = 40, LINKS = 3, AT_ONCE = 4, FETCH_S = 30 };

/* ---- the site ---- */

static const leat_lines_options http = { .crlf = 1 };

/* Reads a request up to its empty line. Returns the number of its page, or -1. */
static int read_request(leat_chan *lines)
{
    int page = -1, more = 1;
    for (leat_line line; more && leat_recv(lines, &line) == 0; leat_line_free(&line)) {
        sscanf(line.text, "GET /%d HTTP/1.1", &page);
        more = line.size > 0;
    }
    return page;
}

/* Page n links to 2n + 1, 2n + 2 and n / 2. The last page links to one that is missing. */
static void write_page(leat_io *connection, int page)
{
    char text[192];
    int n = snprintf(text, sizeof text, "HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n");
    if (page < PAGES)
        n = snprintf(text, sizeof text,
                     "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
                     "<a href=\"/%d\">\n<a href=\"/%d\">\n<a href=\"/%d\">\n",
                     (2 * page + 1) % PAGES, (2 * page + 2) % PAGES,
                     page == PAGES - 1 ? PAGES : page / 2);
    leat_write(connection, text, (size_t)n);
}

static int serve_page(leat_io *connection, void *arg)
{
    (void)arg;
    leat_chan *lines;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    int page = leat_lines(s, connection, &http, &lines) == 0 ? read_request(lines) : -1;
    if (page >= 0 && page % 16 != 9) /* from the others it hangs up */
        write_page(connection, page);
    leat_scope_cancel(s); /* this ends the task that reads lines */
    leat_scope_close(s);
    return 0;
}

static int serve(void *listener)
{
    return leat_serve(listener, serve_page, NULL, NULL);
}

/* ---- fetching a page ---- */

struct page {
    int number, error, status, n;
    int links[LINKS];
};

static _Atomic int at_once, most_at_once;

/* Reads the answer to its end: a line with the status, headers, and the lines of the page. */
static int read_page(leat_chan *lines, struct page *page)
{
    int error;
    for (leat_line line; (error = leat_recv(lines, &line)) == 0; leat_line_free(&line))
        if (!page->status && sscanf(line.text, "HTTP/1.1 %d", &page->status) != 1)
            page->status = -1;
        else if (page->n < LINKS &&
                 sscanf(line.text, "<a href=\"/%d\">", &page->links[page->n]) == 1)
            page->n++;
    return error == -EPIPE && page->status ? 0 : error;
}

/* The scope has the deadline of everything in it, and closes the connection. */
static int fetch(void *arg, const void *in, void *out)
{
    const char *address = arg;
    int now = atomic_fetch_add(&at_once, 1) + 1, most = atomic_load(&most_at_once);
    while (now > most && !atomic_compare_exchange_weak(&most_at_once, &most, now)) {
    }
    struct page *page = out;
    *page = (struct page){ .number = *(const int *)in };
    char request[64];
    int n =
        snprintf(request, sizeof request, "GET /%d HTTP/1.1\r\nHost: site\r\n\r\n", page->number);
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

static void report(const struct page *page)
{
    if (page->error)
        printf("/%d: %s\n", page->number, strerror(-page->error));
    else
        printf("/%d: %d, %d links\n", page->number, page->status, page->n);
}

/* One task knows which pages were seen, so there is no lock. It sends and receives in one select,
 * so that a full stage never waits for itself. */
static void crawl(leat_scope *s, char *address)
{
    struct page pages[PAGES + 1], page;
    int seen[PAGES + 1] = { 1 }, queue[PAGES + 1] = { 0 }; /* it begins at page 0 */
    int visited = 0, sent = 0, found = 1;
    leat_chan *to_visit = leat_chan_of(s, int, 0);
    leat_chan *fetched = leat_pipeline(
        s, to_visit,
        &(leat_pipeline_spec){
            .n = AT_ONCE, .run = fetch, .arg = address, .unordered = 1, .out_size = sizeof page });
    while (fetched && visited < found) {
        leat_case cases[] = { LEAT_RECV(fetched, &page),
                              LEAT_SEND(sent < found ? to_visit : NULL, &queue[sent % found]) };
        int which = leat_select(cases, 2, LEAT_NEVER);
        if (which < 0 || cases[which].status)
            break;
        if (which == 1) {
            sent++;
            continue;
        }
        pages[page.number] = page;
        visited++;
        for (int i = 0; i < page.n; i++) {
            int link = page.links[i];
            if (link >= 0 && link <= PAGES && !seen[link]++)
                queue[found++] = link;
        }
    }
    leat_close(to_visit);
    for (int i = 0; i <= PAGES && visited == found; i++)
        if (seen[i])
            report(&pages[i]);
    printf("%d pages, %s than four at once\n", visited,
           most_at_once > AT_ONCE ? "more" : "never more");
}

static int run(void *arg)
{
    (void)arg;
    leat_io *listener;
    char address[LEAT_ADDRESS_TEXT];
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    int error = leat_listen(s, "127.0.0.1:0", 0, &listener);
    if (!error)
        error = leat_go(s, serve, listener);
    if (!error) {
        leat_io_local_text(listener, address, sizeof address);
        crawl(s, address);
        leat_io_close(listener); /* this ends serve */
    }
    int why = leat_scope_close(s);
    return error ? error : why;
}

int main(void)
{
    return leat_main(run, NULL) < 0;
}
