/* link_engine.h: an engine for a test: its own Redis, on a socket in its own folder. It
 * writes nothing to its disk. A test program without one ends with 77, which means skipped. */
#pragma once

#include "support.h"

#include "src/engine.h"

#include <fcntl.h>
#include <leat/link.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct test_engine {
    char folder[32], path[64], url[96];
    pid_t pid;
};

static inline void engine_exec(const struct test_engine *engine)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int none = open("/dev/null", O_RDWR);
    dup2(none, 0);
    dup2(none, 1);
    execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", engine->path, "--save",
           "", "--appendonly", "no", "--dir", engine->folder, (char *)NULL);
    _exit(77);
}

/* True when it listens; false when there is no Redis here. */
static inline bool engine_start(struct test_engine *engine)
{
    strcpy(engine->folder, "/tmp/leat-link-XXXXXX");
    CHECK(mkdtemp(engine->folder));
    snprintf(engine->path, sizeof engine->path, "%s/socket", engine->folder);
    snprintf(engine->url, sizeof engine->url, "redis+unix:%s", engine->path);
    engine->pid = fork();
    CHECK(engine->pid >= 0);
    if (engine->pid == 0)
        engine_exec(engine);
    for (redisContext *context;; redisFree(context)) {
        int status;
        context = redisConnectUnix(engine->path);
        CHECK(context);
        if (!context->err) {
            redisFree(context);
            return true;
        }
        if (waitpid(engine->pid, &status, WNOHANG) == engine->pid) {
            redisFree(context);
            rmdir(engine->folder);
            CHECK(WIFEXITED(status));
            CHECK_IS(77, WEXITSTATUS(status));
            return false;
        }
        nap();
    }
}

static inline void engine_stop(struct test_engine *engine)
{
    kill(engine->pid, SIGKILL);
    CHECK_IS(engine->pid, waitpid(engine->pid, NULL, 0));
    unlink(engine->path);
    rmdir(engine->folder);
}

/* A connection with which a test asks the engine itself. */
static inline redisContext *engine_ask(const struct test_engine *engine)
{
    redisContext *context = redisConnectUnix(engine->path);
    CHECK(context && !context->err);
    return context;
}
