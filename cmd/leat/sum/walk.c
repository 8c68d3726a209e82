#include "walk.h"

#include "device.h"
#include "named.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { NODES_AWAY = 64 * 1024 }; /* folders needed only by files under way, at most */

void walk_open(struct walk *w, struct flow *f, size_t descriptors, const struct exclude *exclude)
{
    *w = (struct walk){
        .flow = f,
        .descriptors = descriptors,
        .exclude = exclude,
        .wanted = selection_all(f->selection),
        .size = f->size,
    };
    lister_open(&w->lister);
}

static void leave_folder(struct walk *w)
{
    struct frame *top = &w->frames[--w->depth];
    if (w->depth >= w->held)
        dir_drop(top->dir);
    if (w->held > w->depth)
        w->held = w->depth;
    dir_unref(top->dir);
    free(top->names);
}

void walk_close(struct walk *w)
{
    while (w->depth > 0)
        leave_folder(w);
    free(w->frames);
    lister_free(&w->lister);
}

static int submit_error(struct walk *w, const struct dir *d, int error)
{
    return flow_tell(w->flow, d->parent, d->name, SLOT_FAILURE, error, NULL);
}

static int submit_file(struct walk *w, struct dir *dir, const char *name)
{
    int err;
    struct slot *s = flow_take(w->flow, name, strlen(name), &err);
    if (!s)
        return err;
    s->origin = ORIGIN_WALK;
    s->wanted = w->wanted;
    s->size = w->size;
    s->dir = dir;
    dir_ref(dir);
    s->holds_dir = dir_hold_open(dir);
    if (w->flow->goal.wanted) {
        struct stat about;
        int flags = w->flow->follow ? 0 : AT_SYMLINK_NOFOLLOW;
        goal_add(&w->flow->goal, fstatat(dir->fd, name, &about, flags) == 0 ? &about : NULL);
    }
    return flow_submit(w->flow, s);
}

/* Whether it is a link that is followed, to a list or to the cache. */
static bool leads_to_own_file(const struct walk *w, const struct dir *dir, const char *name)
{
    struct stat about;
    return w->flow->follow && fstatat(dir->fd, name, &about, 0) == 0 &&
           named_has(w->named, about.st_dev, about.st_ino, "");
}

static int take_file(struct walk *w, struct dir *dir, const char *name)
{
    int err = w->naming ? named_add_entry(w->naming, dir->device, dir->inode, name) : 0;
    if (err)
        return err;
    if (!w->named)
        return submit_file(w, dir, name);
    if (named_has(w->named, dir->device, dir->inode, name) ||
        named_has(w->looked, dir->device, dir->inode, name) || leads_to_own_file(w, dir, name))
        return 0;
    err = named_add_entry(w->looked, dir->device, dir->inode, name);
    if (err)
        return err;
    return w->report ? flow_tell(w->flow, dir, name, SLOT_UNLISTED, 0, NULL)
                     : submit_file(w, dir, name);
}

static bool few_descriptors(const void *arg)
{
    const struct walk *w = arg;
    return dirs_open() < w->descriptors;
}

/* The number of open folders at which the walk continues: a quarter of the descriptors must be free
 * again. */
static size_t low_water_mark(const struct walk *w)
{
    return w->descriptors - 1 - w->descriptors / 4;
}

static bool is_at_low_water(const void *arg)
{
    return dirs_open() <= low_water_mark(arg);
}

static bool few_nodes(const void *arg)
{
    const struct walk *w = arg;
    return dirs_alive() < w->depth + NODES_AWAY;
}

/* At least 1: the present folder is held. */
static size_t half_the_descriptors(const struct walk *w)
{
    return (w->descriptors + 1) / 2;
}

/* Drops holds on outer folders until at most `keep` are held. */
static void hold_at_most(struct walk *w, size_t keep)
{
    while (w->depth - w->held > keep)
        dir_drop(w->frames[w->held++].dir);
}

/* Opens a folder, whose parent is held, once few are open. If the system has no descriptor even so,
 * waits until nothing is under way, and tries again. */
static int open_patiently(struct walk *w, struct dir *d)
{
    int err = 0;
    if (!few_descriptors(w)) {
        /* Slots return in the output's order, so perhaps only after a long file: closed folders
         * wake us, too. */
        dirs_notify(w->flow->wakeup, low_water_mark(w));
        err = flow_settle(w->flow, is_at_low_water, w);
    }
    if (err)
        return err;
    err = dir_hold(d);
    if (err != -EMFILE && err != -ENFILE)
        return err;
    err = flow_settle(w->flow, NULL, NULL);
    return err ? err : dir_hold(d);
}

/* Makes sure that the present folder is held when the walk comes back to it from below: opens the
 * path again, from the nearest folder above that is still open. */
static int come_back(struct walk *w)
{
    size_t top = w->depth - 1, at = top;
    if (top >= w->held)
        return 0;
    while (at > 0 && !dir_hold_open(w->frames[at].dir))
        at--;
    int err = at == 0 ? open_patiently(w, w->frames[0].dir) : 0;
    size_t first = at; /* [first, at] are held */
    while (!err && at < top) {
        err = open_patiently(w, w->frames[at + 1].dir);
        if (err)
            break;
        at++;
        if (at - first >= half_the_descriptors(w))
            dir_drop(w->frames[first++].dir);
    }
    if (!err) {
        w->held = first;
        return 0;
    }
    for (; first <= at; first++)
        dir_drop(w->frames[first].dir);
    return err;
}

/* Whether this folder is also one of those above it. */
static bool is_loop(const struct walk *w, const struct dir *d)
{
    for (size_t i = w->depth; i-- > 0;)
        if (w->frames[i].dir->inode == d->inode && w->frames[i].dir->device == d->device)
            return true;
    return false;
}

static int push(struct walk *w, struct dir *d, char *names)
{
    if (w->depth == w->cap) {
        size_t cap = 2 * w->cap + 64;
        struct frame *frames = realloc(w->frames, cap * sizeof *frames);
        if (!frames)
            return -ENOMEM;
        w->frames = frames;
        w->cap = cap;
    }
    w->frames[w->depth++] = (struct frame){ .dir = d, .names = names, .at = names };
    hold_at_most(w, half_the_descriptors(w));
    return 0;
}

static int identify(struct dir *d)
{
    struct stat about;
    if (fstat(d->fd, &about) < 0)
        return -errno;
    d->device = about.st_dev;
    d->inode = about.st_ino;
    d->disk = device_of(about.st_dev);
    return 0;
}

/* `d` is held. Afterwards it is the present folder, or dropped. */
static int enter_held(struct walk *w, struct dir *d)
{
    char *names = NULL;
    int err = 0, failed = identify(d);
    if (!failed && w->flow->follow && is_loop(w, d))
        err = flow_tell(w->flow, d->parent, d->name, SLOT_SKIPPED, 0,
                        "leads back to a folder above it, skipped");
    else if (!failed)
        failed = list_folder(&w->lister, d, w->flow->follow, w->exclude, &names);
    if (failed == -ENOMEM)
        err = failed;
    else if (failed)
        err = submit_error(w, d, failed);
    if (!err && names)
        err = push(w, d, names);
    if (err || !names) {
        free(names);
        dir_drop(d);
        dir_unref(d);
    }
    return err;
}

static int enter(struct walk *w, struct dir *parent, const char *name, size_t len, bool follow)
{
    int err = flow_settle(w->flow, few_nodes, w);
    if (err)
        return err;
    struct dir *d = dir_new(parent, name, len, follow);
    if (!d)
        return -ENOMEM;
    err = open_patiently(w, d);
    if (!err)
        return enter_held(w, d);
    if (err != -ECANCELED)
        err = submit_error(w, d, err);
    dir_unref(d);
    return err;
}

static int handle(struct walk *w, struct dir *dir, struct entry entry)
{
    const char *remark = NULL;
    switch (entry.kind) {
    case ENTRY_FILE:
    case ENTRY_UNKNOWN: return take_file(w, dir, entry.name);
    case ENTRY_FOLDER: return enter(w, dir, entry.name, strlen(entry.name) - 1, w->flow->follow);
    case ENTRY_FIFO: remark = "is a FIFO, skipped"; break;
    case ENTRY_SOCKET: remark = "is a socket, skipped"; break;
    case ENTRY_DEVICE: remark = "is a device, skipped"; break;
    case ENTRY_OUTPUT: remark = "is the output, skipped"; break;
    }
    return flow_tell(w->flow, dir, entry.name, SLOT_SKIPPED, 0, remark);
}

int walk_folder(struct walk *w, const char *path)
{
    /* A file that is listed could be taken for one that is not. */
    if (w->named && w->named->error)
        return flow_tell(w->flow, NULL, path, SLOT_FAILURE, w->named->error, NULL);
    /* A path of the user's may be a link. */
    int err = enter(w, NULL, path, strlen(path), true);
    while (!err && w->depth > 0) {
        struct frame *top = &w->frames[w->depth - 1];
        struct entry entry = listing_next(&top->at);
        if (!entry.kind) {
            leave_folder(w);
            continue;
        }
        int back = come_back(w);
        if (back == -ECANCELED)
            return back;
        if (back) {
            err = submit_error(w, top->dir, back);
            leave_folder(w);
            continue;
        }
        err = handle(w, top->dir, entry);
    }
    return err;
}

static struct slot *tree_slot(struct walk *w, const char *path, enum slot_kind kind, int *err)
{
    struct text name = { 0 };
    size_t len = strlen(path);
    text_str(&name, path);
    if (len == 0 || path[len - 1] != '/')
        text_char(&name, '/');
    struct slot *s = NULL;
    *err = text_string(&name) ? 0 : -ENOMEM;
    if (!*err)
        s = flow_take(w->flow, name.bytes, name.len, err);
    text_free(&name);
    if (!s)
        return NULL;
    s->kind = kind;
    s->wanted = w->wanted;
    s->size = w->size;
    return s;
}

int walk_tree(struct walk *w, const char *path, const struct walk_checked *checked)
{
    int err;
    struct slot *s = tree_slot(w, path, SLOT_TREE, &err);
    if (s)
        err = flow_submit(w->flow, s);
    if (!err)
        err = walk_folder(w, path);
    s = err ? NULL : tree_slot(w, path, SLOT_TREE_END, &err);
    if (!s)
        return err;
    if (checked) {
        s->line = checked->line;
        s->unsure = checked->unsure;
        s->expected = s->digest + DIGEST_MAX;
        memcpy(s->expected, checked->digest, DIGEST_MAX);
    }
    return flow_submit(w->flow, s);
}
