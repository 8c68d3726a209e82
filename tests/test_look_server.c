/* test_look_server.c: the page that a program serves about itself: addresses, requests, answers. */
#include "look_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* ---- addresses ---- */

static int address_errors(void *unused)
{
    (void)unused;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    const char *const wrong[] = { "",      "nowhere",     "127.0.0.1",       "localhost:80",
                                  "unix:", "127.0.0.1:x", "udp:127.0.0.1:0", "127.0.0.1:65536",
                                  "[::1]", "1.2.3.4.5:80" };
    CHECK_IS(-EINVAL, leat_look(NULL, address, NULL));
    CHECK_IS(-EINVAL, leat_look(s, NULL, NULL));
    CHECK_IS(-EINVAL, leat_look(s, address, ""));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_IS(-EINVAL, leat_look(s, wrong[i], NULL));
    CHECK_IS(-EPERM, leat_look(s, "0.0.0.0:0", NULL));
    CHECK_IS(-EPERM, leat_look(s, ":0", NULL));
    CHECK_IS(-EPERM, leat_look(s, "192.0.2.1:0", NULL));
    CHECK_IS(-EADDRNOTAVAIL, leat_look(s, "192.0.2.1:0", "token"));
    CHECK_IS(-ENOENT, leat_look(s, "unix:/nosuch/folder/socket", NULL));
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}

/* Two at once cannot have one file; what is no socket stays, and so does the file of another
 * socket; a socket without a program goes. */
static int files(void *unused)
{
    struct stat found;
    (void)unused;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_look(s, address, NULL));
    CHECK_IS(0, stat(path, &found));
    CHECK_IS(0600, found.st_mode & 0777);
    CHECK_IS(-EADDRINUSE, leat_look(s, address, NULL));
    CHECK_IS(200, ask("/"));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(-1, stat(path, &found));

    /* A path from the program's folder, which changes. */
    int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, chdir(folder));
    CHECK_IS(0, leat_look(s, "unix:socket", NULL));
    CHECK_IS(0, fchdir(here));
    close(here);
    CHECK_IS(0, stat(path, &found));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(-1, stat(path, &found));

    FILE *file = fopen(path, "we");
    CHECK(file);
    fclose(file);
    s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(-EADDRINUSE, leat_look(s, address, NULL));
    CHECK_IS(0, unlink(path));

    CHECK_IS(0, leat_look(s, address, NULL));
    CHECK_IS(0, unlink(path));
    struct sockaddr_un un = { .sun_family = AF_UNIX };
    memcpy(un.sun_path, path, strlen(path) + 1);
    int other = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_IS(0, bind(other, (struct sockaddr *)&un, sizeof un));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(0, stat(path, &found));
    close(other);
    s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_look(s, address, NULL));
    CHECK_IS(200, ask("/"));
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}

static int serves(void *scope)
{
    return leat_look(scope, address, NULL);
}

/* Another program has bound its socket, and will listen. */
static int begins(void *unused)
{
    struct sockaddr_un un = { .sun_family = AF_UNIX };
    (void)unused;
    memcpy(un.sun_path, path, strlen(path) + 1);
    int other = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK_IS(0, flock(lock, LOCK_EX));
    CHECK_IS(0, bind(other, (struct sockaddr *)&un, sizeof un));
    leat_scope *s = leat_scope_open(LEAT_NEVER), *inside = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_go_blocking(inside, serves, s));
    CHECK_IS(0, leat_sleep(20 * LEAT_MS));
    CHECK_IS(0, listen(other, 1));
    close(lock);
    CHECK_IS(-EADDRINUSE, leat_scope_close(inside));
    close(client());
    CHECK_IS(0, leat_scope_close(s));
    close(other);
    CHECK_IS(0, unlink(path));
    return 0;
}

static void test_addresses(void **state)
{
    (void)state;
    CHECK_IS(-EINVAL, leat_look(NULL, address, NULL)); /* no runtime */
    CHECK_IS(0, leat_main_with(address_errors, NULL, &(leat_options){ .workers = 2 }));
    CHECK_IS(0, leat_main_with(files, NULL, &(leat_options){ .workers = 2 }));
    CHECK_IS(0, leat_main_with(begins, NULL, &(leat_options){ .workers = 2 }));
}

/* A simulated thread runs on a task that is in no scope. */
static int dumps(void *unused)
{
    (void)unused;
    FILE *to = fopen("/dev/null", "we");
    CHECK(to);
    CHECK_IS(0, leat_dump(to));
    fclose(to);
    return 0;
}

static int in_world(void *unused)
{
    (void)unused;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(-ENOTSUP, leat_look(s, address, NULL));
    CHECK_IS(0, leat_go_blocking(s, dumps, NULL));
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}

static void test_seeded_world(void **state)
{
    (void)state;
    CHECK_IS(0, leat_sim_each(0, 1, in_world, NULL));
}

/* ---- requests ---- */

static int requests(void *unused)
{
    (void)unused;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_look(s, address, NULL));
    CHECK_IS(200, ask("/"));
    CHECK(answer_has("text/html") && answer_has("</script>"));
    CHECK_IS(200, ask("/json"));
    CHECK(answer_has("application/json") && answer_has("\"scopes\":[{"));
    CHECK_IS(200, ask("/json?stacks=1&more=%zz"));
    CHECK_IS(200, ask("/dump"));
    CHECK(answer_has("\nscope ") && answer_has("leat-dump.txt"));
    CHECK_IS(200, ask("/graph"));
    CHECK(answer_has("digraph leat"));
    CHECK_IS(200, ask_with("/json", ""));
    CHECK_IS(200, ask_with("/json", "host:\t127.1.2.3:80\r\n"));
    CHECK_IS(200, ask_with("/json", "Host: [::1]:80\r\nSec-Fetch-Site: same-origin\r\n"));
    CHECK_IS(404, ask("/nothing"));
    CHECK_IS(404, ask("/json/"));
    CHECK_IS(403, ask_with("/json", "Host: example.org\r\n"));
    CHECK_IS(403, ask_with("/json", "Host: 128.0.0.1\r\n"));
    CHECK_IS(403, ask_with("/json", "Host: localhost.example.org\r\n"));
    CHECK_IS(403, ask_with("/trace", "Host: localhost\r\nSec-Fetch-Site: cross-site\r\n"));
    CHECK_IS(403, ask_with("/trace", "Host: localhost\r\nSec-Fetch-Site: cross-site \t\r\n"));
    CHECK_IS(400, ask("/trace?seconds=0"));
    CHECK_IS(400, ask("/trace?seconds=61"));
    CHECK_IS(400, ask("/trace?seconds=1e1"));
    CHECK_IS(400, ask("/trace?seconds=99999999999999999999999999"));
    CHECK_IS(200, ask("/trace?seconds=0.05"));
    CHECK(answer_has("traceEvents") && answer_has("leat-trace.json"));
    static const char *const wrong[] = { "\r\n\r\n", "GET\r\n\r\n", "GET /\r\n\r\n",
                                         "GET x HTTP/1.1\r\n\r\n", "GET / HTTP/2\r\n\r\n" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int fd = client();
        say(fd, wrong[i]);
        CHECK_IS(400, hear(fd));
    }
    int fd = client();
    say(fd, "POST / HTTP/1.1\r\n\r\n");
    CHECK_IS(405, hear(fd));
    static const char with_body[] = "GET / HTTP/1.1\r\nContent-Length: 1\r\n\r\n"; /* and a 0 */
    fd = client();
    CHECK_IS(sizeof with_body, send(fd, with_body, sizeof with_body, MSG_NOSIGNAL));
    CHECK_IS(200, hear(fd));
    static char with_long_body[12000] = "GET / HTTP/1.1\r\nContent-Length: 11964\r\n\r\n";
    fd = client();
    CHECK_IS(sizeof with_long_body, send(fd, with_long_body, sizeof with_long_body, MSG_NOSIGNAL));
    CHECK_IS(200, hear(fd));
    CHECK(!was_reset);
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}

#define TEXT_OF_20 "aaaaaaaaaaaaaaaaaaaa"
#define TEXT_OF_100 TEXT_OF_20 TEXT_OF_20 TEXT_OF_20 TEXT_OF_20 TEXT_OF_20
#define TEXT_OF_400 TEXT_OF_100 TEXT_OF_100 TEXT_OF_100 TEXT_OF_100

static int with_token(void *unused)
{
    (void)unused;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_look(s, address, "a b&c"));
    CHECK_IS(401, ask("/"));
    CHECK_IS(401, ask("/json"));
    CHECK_IS(401, ask("/nothing"));
    CHECK_IS(401, ask("/?token=a"));
    CHECK_IS(401, ask("/?token=a%20b%26cd"));
    CHECK_IS(401, ask("/?nottoken=a%20b%26c"));
    CHECK_IS(200, ask("/?token=a%20b%26c"));
    CHECK_IS(200, ask_with("/?x=y&token=a%20b%26c", "Host: example.org\r\n"));
    CHECK_IS(200, ask_with("/json", "Authorization: Bearer a b&c\r\n"));
    CHECK_IS(401, ask_with("/json", "Authorization: Bearer a b\r\n"));
    CHECK_IS(0, leat_scope_close(s));
    char target[] = "/?token=" TEXT_OF_400;
    s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_look(s, address, TEXT_OF_400));
    CHECK_IS(200, ask(target));
    target[sizeof target - 2] = 'b';
    CHECK_IS(401, ask(target));
    return leat_scope_close(s);
}

static void test_requests(void **state)
{
    (void)state;
    CHECK_IS(0, leat_main_with(requests, NULL, &(leat_options){ .workers = 2 }));
    CHECK_IS(0, leat_main_with(with_token, NULL, &(leat_options){ .workers = 2 }));
}

/* ---- clients that do not do what they should ---- */

static void send_garbage(uint64_t *chance)
{
    static const char *const parts[] = { "GET ",
                                         "/json",
                                         "/trace?seconds=5",
                                         " HTTP/1.1",
                                         "\r\n",
                                         "\r\n\r\n",
                                         "Host:",
                                         "localhost",
                                         "?token=%",
                                         "\xFF",
                                         "Authorization: Bearer ",
                                         "HEAD " };
    int fd = client();
    for (unsigned n = below(chance, 12); n; n--) {
        const char *part = parts[below(chance, sizeof parts / sizeof *parts)];
        if (send(fd, part, strlen(part) + (below(chance, 20) == 0), MSG_NOSIGNAL) < 0)
            break;
        if (below(chance, 4) == 0)
            nap();
    }
    if (below(chance, 2)) {
        shutdown(fd, SHUT_WR);
        hear(fd);
    } else {
        close(fd);
    }
}

/* A client at the socket, or if `in` is not NULL there, that asks for a trace of a minute. */
static int ask_for_trace(const struct sockaddr_in *in)
{
    int fd = in ? socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) : client();
    if (in)
        CHECK_IS(0, connect(fd, (const struct sockaddr *)in, sizeof *in));
    say(fd, "GET /trace?seconds=60 HTTP/1.1\r\n\r\n");
    return fd;
}

/* The same, when it records. */
static int record(const struct sockaddr_in *in)
{
    int fd = ask_for_trace(in);
    while (ask("/trace?seconds=0.001") == 200) {
        if (poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 0) == 0)
            continue;
        close(fd); /* it came while the other trace was recorded, and was refused */
        fd = ask_for_trace(in);
    }
    CHECK(strncmp(answer, "HTTP/1.1 409 ", 13) == 0);
    return fd;
}

static int hostile(void *unused)
{
    static char long_line[10000];
    uint64_t chance = seed_of_test();
    int silent[40];
    (void)unused;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_look(s, address, NULL));
    for (int i = 0; i < 2000 / SCALE; i++)
        send_garbage(&chance);
    memset(long_line, 'x', sizeof long_line - 1);
    int fd = client();
    send(fd, long_line, sizeof long_line - 1, MSG_NOSIGNAL);
    CHECK_IS(400, hear(fd));
    CHECK(!was_reset);
    /* More clients than it has room for, and none of them asks. One that asks gets its answer. */
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++)
        silent[i] = client();
    int64_t begun = leat_now();
    CHECK_IS(200, ask("/json"));
    CHECK(leat_now() - begun < 9 * LEAT_S);
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++)
        close(silent[i]);
    CHECK_IS(200, ask("/json"));
    /* One that records a trace, and goes: the next one records at once. */
    close(record(NULL));
    while (ask("/trace?seconds=0.001") != 200)
        CHECK(strncmp(answer, "HTTP/1.1 409 ", 13) == 0);
    /* One that is still recording at the end. */
    fd = record(NULL);
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(0, hear(fd));
    return 0;
}

static void test_hostile(void **state)
{
    (void)state;
    CHECK_IS(0, leat_main_with(hostile, NULL, &(leat_options){ .workers = 2 }));
}

/* ---- a client over TCP that records a trace, and goes ---- */

static int free_port(void)
{
    struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_IS(0, bind(fd, (struct sockaddr *)&in, sizeof in));
    CHECK_IS(0, getsockname(fd, (struct sockaddr *)&in, &(socklen_t){ sizeof in }));
    close(fd);
    return ntohs(in.sin_port);
}

static int gone(void *unused)
{
    (void)unused;
    char tcp[32];
    struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int port = free_port();
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    in.sin_port = htons((uint16_t)port);
    snprintf(tcp, sizeof tcp, "127.0.0.1:%d", port);
    CHECK_IS(0, leat_look(s, tcp, NULL));
    CHECK_IS(0, leat_look(s, address, NULL));
    int fd = record(&in);
    int64_t begun = leat_now();
    close(fd);
    while (ask("/trace?seconds=0.001") != 200)
        CHECK(strncmp(answer, "HTTP/1.1 409 ", 13) == 0);
    CHECK(leat_now() - begun < 30 * LEAT_S);
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}

static void test_gone(void **state)
{
    (void)state;
    CHECK_IS(0, leat_main_with(gone, NULL, &(leat_options){ .workers = 2 }));
}

/* ---- what it shows ---- */

static _Atomic int computing;
static _Atomic bool over;

static int computes(void *unused)
{
    (void)unused;
    atomic_fetch_add(&computing, 1);
    while (!atomic_load(&over))
        ;
    return 0;
}

/* While all workers are held, it answers, and says so. */
static void test_stuck(void **state)
{
    (void)state;
    CHECK_IS(0, leat_start(&(leat_options){ .workers = 2 }));
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_look(s, address, NULL));
    for (int i = 0; i < 2; i++)
        CHECK_IS(0, leat_go(s, computes, NULL));
    WAIT_UNTIL(atomic_load(&computing) == 2);
    CHECK_IS(200, ask("/json"));
    CHECK(answer_has("\"worker\":0,") && answer_has("\"worker\":1,"));
    CHECK(answer_has("\"answered\":false") && !answer_has("\"answered\":true"));
    if (!getenv("LEAT_EMULATED")) /* where the task of a busy worker cannot be read */
        CHECK(answer_has("\"name\":\"computes ("));
    atomic_store(&over, true);
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(0, leat_stop());
}

/* poll(2) refuses more entries than a process may have descriptors. (If the test has inherited
 * many, it shows nothing.) */
static int with_few_descriptors(void *unused)
{
    (void)unused;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_look(s, address, NULL));
    struct rlimit before, few;
    int next = dup(STDIN_FILENO);
    CHECK(next >= 0);
    close(next);
    CHECK_IS(0, getrlimit(RLIMIT_NOFILE, &before));
    few = (struct rlimit){ (rlim_t)next + 3, before.rlim_max };
    CHECK_IS(0, setrlimit(RLIMIT_NOFILE, &few));
    CHECK_IS(200, ask("/"));
    int fd = client();
    few.rlim_cur = 0; /* poll(2) refuses every wait from the next one on */
    CHECK_IS(0, setrlimit(RLIMIT_NOFILE, &few));
    say(fd, "G");
    leat_sleep(LEAT_S / 10);
    int error = leat_scope_close(s);
    CHECK_IS(0, setrlimit(RLIMIT_NOFILE, &before));
    close(fd);
    return error;
}

static void test_few_descriptors(void **state)
{
    (void)state;
    CHECK_IS(0, leat_main(with_few_descriptors, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_seeded_world),
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_gone),
        cmocka_unit_test(test_stuck),
        cmocka_unit_test(test_few_descriptors),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
