#include "look/look.h"

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/environment.h"
#include "base/world.h"
#include "sched/runtime.h"
#include "scope/scope.h"

#include <leat/watch.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- a scope's ---- */

struct look {
    struct lt_owned owned;
    struct lt_server *server;
};

static void free_look(struct lt_owned *owned)
{
    struct look *look = LT_CONTAINER(owned, struct look, owned);
    lt_server_stop(look->server);
    lt_free(look);
}

static const struct lt_owned_kind look_kind = { .free = free_look };

static int start(leat_scope *scope, const char *address, const char *token)
{
    struct look *look = lt_alloc(sizeof *look);
    int error = look ? lt_server_start(&look->server, address, token) : -ENOMEM;
    if (error) {
        lt_free(look);
        return error;
    }
    look->owned.kind = &look_kind;
    lt_scope_own(scope, &look->owned);
    return 0;
}

int leat_look(leat_scope *scope, const char *address, const char *token)
{
    if (!scope || !address || (token && !*token) || !lt_running())
        return -EINVAL;
    if (lt_world())
        return -ENOTSUP;
    int cancel = lt_cancel_put_off(), error = start(scope, address, token);
    lt_cancel_restore(cancel);
    return error;
}

/* ---- the environment's ---- */

static struct lt_server *from_environment; /* while the runtime starts, runs and stops */

int lt_look_serve(void)
{
    const char *address = lt_env("LEAT_LOOK");
    if (!address)
        return 0;
    int error = lt_server_start(&from_environment, address, lt_env("LEAT_LOOK_TOKEN"));
    if (error == -EINVAL)
        return lt_env_refuse("LEAT_LOOK", "an address such as 127.0.0.1:8080 or unix:/path");
    if (error == -EPERM)
        return lt_env_refuse("LEAT_LOOK",
                             "an address of this machine, unless LEAT_LOOK_TOKEN is set");
    if (error)
        dprintf(STDERR_FILENO, "leat: LEAT_LOOK: %s: %s\n", address, strerror(-error));
    return 0;
}

void lt_look_serve_end(void)
{
    if (from_environment)
        lt_server_stop(from_environment);
    from_environment = NULL;
}
