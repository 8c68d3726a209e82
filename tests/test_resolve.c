/* test_resolve.c: what the C library says of names. */
#define _GNU_SOURCE
#include "sockets.h"

#include <dlfcn.h>
#include <netdb.h>
#include <sys/resource.h>

/* How the next getaddrinfo(3) fails, with errno; or 0. */
static _Atomic int fails, fails_with;

/* In place of the C library's getaddrinfo. */
int ask_or_fail(const char *host, const char *service, const struct addrinfo *hints,
                struct addrinfo **list) __asm__("getaddrinfo");

int ask_or_fail(const char *host, const char *service, const struct addrinfo *hints,
                struct addrinfo **list)
{
    static int (*_Atomic ask)(const char *, const char *, const struct addrinfo *,
                              struct addrinfo **);
    int code = atomic_exchange(&fails, 0);
    if (!code && !atomic_load(&ask))
        atomic_store(&ask, (int (*)(const char *, const char *, const struct addrinfo *,
                                    struct addrinfo **))dlsym(RTLD_NEXT, "getaddrinfo"));
    errno = atomic_load(&fails_with);
    return code ? code : atomic_load(&ask)(host, service, hints, list);
}

static int system_resolves(void *arg)
{
    (void)arg;
    leat_address addresses[4];
    int n = leat_resolve("localhost", "80", addresses, 4, leat_after(60 * LEAT_S));
    CHECK(n >= 1 && n <= 4);
    CHECK_IS(1, leat_resolve("localhost", "80", addresses, 1, leat_after(60 * LEAT_S)));
    n = leat_resolve("name.invalid", "80", addresses, 4, leat_after(10 * LEAT_S));
    CHECK(n == -ENOENT || n == -EHOSTDOWN || n == -EPROTO || n == -ETIMEDOUT);
    CHECK_IS(-ENOENT, leat_resolve("127.0.0.1", "no such", addresses, 4, LEAT_NEVER));
    /* The system would take these for numbers. */
    static const char *const ports[] = { "+80", "-80", " 80", "\t80", "\n80" };
    leat_io *io;
    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
        char address[32];
        snprintf(address, sizeof address, ":%s", ports[i]);
        CHECK_IS(-EINVAL, leat_resolve("127.0.0.1", ports[i], addresses, 4, LEAT_NEVER));
        CHECK_IS(-EINVAL, leat_resolve("localhost", ports[i], addresses, 4, LEAT_NEVER));
        CHECK_IS(-EINVAL, leat_connect(NULL, address, &io, LEAT_NEVER));
        CHECK_IS(-EINVAL, leat_listen(NULL, address, 0, &io));
    }
    CHECK_IS(-EAGAIN, leat_resolve("localhost", "80", addresses, 4, LEAT_NOW));
    CHECK_IS(-EINVAL, leat_resolve(NULL, "80", addresses, 4, LEAT_NEVER));
    CHECK_IS(-EINVAL, leat_resolve("", "80", addresses, 4, LEAT_NEVER));
    CHECK_IS(-EINVAL, leat_resolve("localhost", "", addresses, 4, LEAT_NEVER));
    CHECK_IS(-EINVAL, leat_resolve("localhost", "80", NULL, 4, LEAT_NEVER));
    CHECK_IS(-EINVAL, leat_resolve("localhost", "80", addresses, 0, LEAT_NEVER));
    CHECK_IS(-EINVAL, leat_resolve("localhost", "80", addresses, 4, -1));
    return 0;
}
ON_WORKERS(system_resolves);

/* The C library then reports that there is no such name, service or interface. */
static int lack_of_descriptors_is_told(void *arg)
{
    (void)arg;
    leat_address address;
    leat_io *io;
    struct rlimit limit, none;
    CHECK_IS(0, getrlimit(RLIMIT_NOFILE, &limit));
    none = (struct rlimit){ 0, limit.rlim_max };
    CHECK_IS(0, setrlimit(RLIMIT_NOFILE, &none));
    int name = leat_resolve("name.invalid", "80", &address, 1, LEAT_NEVER);
    int service = leat_resolve("127.0.0.1", "http", &address, 1, LEAT_NEVER);
    int zone = leat_listen(NULL, "[::1%lo]:0", 0, &io);
    CHECK_IS(0, setrlimit(RLIMIT_NOFILE, &limit));
    CHECK_IS(-EMFILE, name);
    CHECK_IS(-EMFILE, zone);
    CHECK_IS(-EMFILE, service);
    return 0;
}
ON_WORKERS(lack_of_descriptors_is_told);

/* What getaddrinfo(3) returns, and errno. */
static int failures_are_told(void *arg)
{
    (void)arg;
    static const struct {
        int code, error, told;
    } failures[] = {
        { EAI_NONAME, 0, -ENOENT },       { EAI_NONAME, ENOENT, -ENOENT },
        { EAI_NODATA, 0, -ENOENT },       { EAI_SERVICE, 0, -ENOENT },
        { EAI_NONAME, EMFILE, -EMFILE },  { EAI_SERVICE, ENFILE, -ENFILE },
        { EAI_NONAME, ENOMEM, -ENOMEM },  { EAI_SYSTEM, ENOMEM, -ENOMEM },
        { EAI_AGAIN, ENOBUFS, -ENOBUFS }, { EAI_MEMORY, 0, -ENOMEM },
        { EAI_AGAIN, 0, -EHOSTDOWN },     { EAI_SYSTEM, ECONNREFUSED, -EHOSTDOWN },
        { EAI_FAIL, 0, -EPROTO },
    };
    leat_address address;
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        atomic_store(&fails_with, failures[i].error);
        atomic_store(&fails, failures[i].code);
        CHECK_IS(failures[i].told, leat_resolve("name.invalid", "80", &address, 1, LEAT_NEVER));
    }
    atomic_store(&fails_with, 0);
    return 0;
}
ON_WORKERS(failures_are_told);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(system_resolves),
        TESTS_ON_WORKERS(lack_of_descriptors_is_told),
        TESTS_ON_WORKERS(failures_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
