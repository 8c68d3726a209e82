#include "emit.h"

#include "cache.h"
#include "form.h"
#include "json.h"
#include "shared/quote.h"
#include "update.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

void emit_open(struct emitter *e, const struct options *o, struct cache *cache)
{
    *e = (struct emitter){ .options = o, .cache = cache };
    same_open(&e->gone, &o->selection);
    same_open(&e->seen, &o->selection);
    out_open(&e->out, STDOUT_FILENO, o->zero ? '\0' : '\n');
    out_open(&e->err, STDERR_FILENO, '\n');
    progress_open(&e->progress, o->progress);
    e->one_terminal = isatty(STDOUT_FILENO);
}

void emit_close(struct emitter *e)
{
    progress_erase(&e->progress);
    text_free(&e->out.text);
    text_free(&e->err.text);
    text_free(&e->path);
    same_free(&e->gone);
    tree_free(&e->tree);
    same_free(&e->seen);
    dir_unref(e->path_dir);
}

int emit_flush(struct emitter *e)
{
    if (e->one_terminal && e->out.text.len > 0)
        progress_erase(&e->progress);
    return out_flush(&e->out);
}

/* Keeps the folder's path, since most neighbours share it. */
const char *emit_path(struct emitter *e, const struct slot *s)
{
    if (s->dir != e->path_dir || e->path.broken) {
        dir_unref(e->path_dir);
        e->path_dir = s->dir;
        if (s->dir) {
            dir_ref(s->dir);
            dir_path(s->dir, &e->path);
        } else {
            text_clear(&e->path);
        }
        e->prefix_len = e->path.len;
    }
    e->path.len = e->prefix_len;
    text_add(&e->path, s->name, s->name_len);
    const char *path = text_string(&e->path);
    if (!path)
        e->out.error = -ENOMEM;
    return path;
}

static struct text *begin_message(struct emitter *e)
{
    emit_flush(e);
    progress_erase(&e->progress);
    text_str(&e->err.text, e->options->persona->program);
    text_str(&e->err.text, ": ");
    return &e->err.text;
}

static void end_message(struct emitter *e)
{
    text_char(&e->err.text, '\n');
    out_flush(&e->err);
}

static void add_error(struct text *to, int error)
{
    if (error) {
        text_str(to, ": ");
        text_str(to, strerror(-error));
    }
}

void emit_complaint(struct emitter *e, const char *what, int error)
{
    struct text *t = begin_message(e);
    text_str(t, what);
    add_error(t, error);
    end_message(e);
    e->failed = true;
}

/* "program: name: the problem" */
void emit_note(struct emitter *e, const char *name, const char *remark, int error)
{
    struct text *t = begin_message(e);
    quote_name(t, name);
    if (remark) {
        text_str(t, ": ");
        text_str(t, remark);
    }
    add_error(t, error);
    end_message(e);
}

void emit_failure(struct emitter *e, const char *name, const char *remark, int error)
{
    emit_note(e, name, remark, error);
    e->failed = true;
}

static void emit_digests(struct emitter *e, const struct slot *s, const char *path)
{
    const struct options *o = e->options;
    const struct form form = {
        .tag = o->tag,
        .mark = o->binary ? " *" : "  ",
        .escape = !o->zero,
        .end = o->zero ? NULL : "\n",
    };
    for (struct part p = { 0 }; selection_next(&o->selection, s->wanted, s->size, &p);)
        form_add(&form, &e->out.text, p.algorithm, s->digest + p.at, p.size, path);
}

static void emit_json(struct emitter *e, const struct slot *s, const char *path)
{
    struct text *t = &e->out.text;
    text_char(t, '{');
    json_name(t, "path", path);
    for (struct part p = { 0 }; selection_next(&e->options->selection, s->wanted, s->size, &p);) {
        text_str(t, ",\"");
        text_str(t, p.algorithm->name);
        text_str(t, "\":\"");
        text_hex(t, s->digest + p.at, p.size);
        text_char(t, '"');
    }
    text_str(t, "}\n");
}

static void emit_json_verdict(struct emitter *e, const char *path, const char *verdict,
                              const char *other)
{
    struct text *t = &e->out.text;
    text_char(t, '{');
    json_name(t, "path", path);
    text_str(t, ",\"verdict\":\"");
    text_str(t, verdict);
    text_char(t, '"');
    if (other) {
        text_char(t, ',');
        json_name(t, "other", other);
    }
    text_str(t, "}\n");
}

void emit_verdict(struct emitter *e, const char *path, const char *verdict, const char *relation,
                  const char *other)
{
    if (e->options->status)
        return;
    if (e->options->json) {
        emit_json_verdict(e, path, verdict, other);
        return;
    }
    struct text *t = &e->out.text;
    bool escape = strchr(path, '\n') || (other && strchr(other, '\n'));
    if (escape)
        text_char(t, '\\');
    form_add_name(t, path, escape);
    text_str(t, ": ");
    text_str(t, verdict);
    if (other) {
        text_str(t, relation);
        form_add_name(t, other, escape);
    }
    text_char(t, '\n');
}

/* A verdict that needs no attention. */
static void emit_done(struct emitter *e, const char *path, const char *verdict)
{
    if (!e->options->quiet)
        emit_verdict(e, path, verdict, NULL, NULL);
}

static void emit_checked(struct emitter *e, const struct slot *s, const char *path)
{
    if (s->error) {
        e->unreadable++;
        e->failed = true;
        emit_verdict(e, path, "FAILED open or read", NULL, NULL);
    } else if (memcmp(s->digest, s->expected, s->size) != 0) {
        e->mismatched++;
        if (s->unsure)
            e->unsure = s->size;
        e->failed = true;
        emit_verdict(e, path, "FAILED", NULL, NULL);
    } else {
        e->matched++;
        emit_done(e, path, "OK");
        if (e->options->duplicates)
            emit_duplicate(e, s, path);
    }
}

/* A file of the updated list that no longer exists. */
static void emit_missing(struct emitter *e, const struct slot *s, const char *path)
{
    if (e->options->accept_missing) {
        update_drop(e->update, s->line);
        emit_done(e, path, "REMOVED");
        return;
    }
    e->missing++;
    e->failed = true;
    emit_verdict(e, path, "MISSING", NULL, NULL);
}

/* `trusted`: the file differs in nothing but its digest, or in nothing at all. */
static void emit_updated(struct emitter *e, const struct slot *s, const char *path, bool trusted)
{
    bool differs = s->expected && !s->error && memcmp(s->digest, s->expected, s->size) != 0;
    if (!s->expected) {
        if (s->error || !trusted)
            return;
        update_add(e->update, s, path);
        emit_done(e, path, "ADDED");
    } else if (differs && trusted && e->options->accept_changed) {
        if (s->unsure)
            e->unsure = s->size;
        update_replace(e->update, s->line, s->digest, s->size);
        emit_done(e, path, "REPLACED");
    } else if (s->error || differs) {
        emit_checked(e, s, path);
    } else {
        e->matched++;
    }
}

static bool is_missing(const struct emitter *e, const struct slot *s)
{
    bool more = e->update || e->options->moved;
    return s->expected && (s->error == -ENOENT || (more && s->error == -ENOTDIR));
}

/* Prints the result for a file, or for a whole folder. */
static void emit_result(struct emitter *e, const struct slot *s, const char *path, bool trusted)
{
    const struct options *o = e->options;
    if (e->update)
        emit_updated(e, s, path, trusted);
    else if (o->check && !s->expected)
        emit_candidate(e, s, path);
    else if (o->check)
        emit_checked(e, s, path);
    else if (!s->error && o->json)
        emit_json(e, s, path);
    else if (!s->error)
        emit_digests(e, s, path);
}

static void emit_file(struct emitter *e, const struct slot *s, const char *path)
{
    const struct options *o = e->options;
    bool trusted = true;
    e->files++;
    if (is_missing(e, s)) {
        if (o->moved) {
            emit_put_off(e, s, path);
            return;
        }
        if (o->ignore_missing)
            return;
        if (e->update) {
            emit_missing(e, s, path);
            return;
        }
    }
    if (s->error) {
        emit_failure(e, path, NULL, s->error);
    } else if (e->cache && !cache_remember(e->cache, s)) {
        emit_failure(e, path, "differs from its stored digest, but its size and times are the same",
                     0);
        trusted = false;
    }
    if (e->tree.open) {
        e->tree.trusted = e->tree.trusted && trusted;
        tree_add(&e->tree, s, path);
        return;
    }
    emit_result(e, s, path, trusted);
}

static void emit_tree_end(struct emitter *e, struct slot *s, const char *path)
{
    s->error = tree_end(&e->tree, s);
    if (s->error)
        emit_failure(e, path, "has no digest, since not all of it could be read", 0);
    emit_result(e, s, path, e->tree.trusted);
}

void emit_warning(struct emitter *e, uint64_t count, const char *one, const char *many)
{
    if (count == 0 || e->options->status)
        return;
    struct text *t = begin_message(e);
    text_str(t, "WARNING: ");
    text_number(t, count);
    text_str(t, count == 1 ? one : many);
    end_message(e);
}

/* The i-th algorithm's name if its digests can have `size` bytes, else NULL. */
static const char *name_if_fits(size_t i, size_t size)
{
    const struct algorithm *a = algorithm_at(i);
    return a->size == size || (a->any_size && size < a->size) ? a->name : NULL;
}

/* Names the algorithms whose digests may have `size` bytes, if there are at least two. */
static void emit_hint(struct emitter *e, const char *list, size_t size)
{
    size_t last = 0, count = 0;
    for (size_t i = 0; algorithm_at(i); i++) {
        if (name_if_fits(i, size)) {
            last = i;
            count++;
        }
    }
    if (count < 2)
        return;
    struct text *t = begin_message(e);
    quote_name(t, list);
    text_str(t, ": digests of ");
    text_number(t, 2 * size);
    text_str(t, " digits may be of ");
    for (size_t i = 0; i <= last; i++) {
        const char *name = name_if_fits(i, size);
        if (!name)
            continue;
        text_str(t, name);
        text_str(t, --count > 1 ? ", " : count == 1 ? " or " : "");
    }
    text_str(t, ": choose with -a");
    end_message(e);
}

void emit_unverified(struct emitter *e, const char *list)
{
    const struct options *o = e->options;
    e->failed = true;
    if ((o->ignore_missing || o->exclude.count > 0) && !o->status)
        emit_note(e, list, "no file was verified", 0);
}

static void emit_list_end(struct emitter *e, const struct slot *s, const char *list)
{
    const struct options *o = e->options;
    bool may_be_empty = e->update && s->bad_lines == 0;
    if (s->good_lines == 0 && !may_be_empty) {
        emit_failure(e, list, "no properly formatted checksum lines found", 0);
    } else {
        emit_warning(e, s->bad_lines, " line is improperly formatted",
                     " lines are improperly formatted");
        emit_warning(e, e->missing, " listed file does not exist", " listed files do not exist");
        emit_warning(e, e->unreadable, " listed file could not be read",
                     " listed files could not be read");
        emit_warning(e, e->mismatched, " computed checksum did NOT match",
                     " computed checksums did NOT match");
        if (e->put_off)
            emit_put_off_list(e, list);
        else if (e->matched == 0 && !e->update)
            emit_unverified(e, list);
    }
    size_t strange = e->matched == 0 && e->unsure > 0 ? e->unsure : s->size;
    if (strange > 0 && !o->status && !o->persona->classic)
        emit_hint(e, list, strange);
    /* Its digests may be of another algorithm; then nothing has changed. */
    if (e->update && e->matched == 0 && e->unsure > 0 && o->accept_changed) {
        emit_failure(e, list, "no digest is right, so it is left alone", 0);
        e->update->refused = true;
    }
    if (o->strict && s->bad_lines > 0)
        e->failed = true;
    e->mismatched = e->unreadable = e->matched = e->unsure = 0;
    e->put_off = false;
}

static void emit_unlisted(struct emitter *e, const char *path)
{
    e->unlisted++;
    e->failed = true;
    emit_verdict(e, path, "NOT LISTED", NULL, NULL);
}

static void emit_trees_end(struct emitter *e)
{
    if (e->update)
        e->update->complete = !e->update->refused;
    emit_warning(e, e->unlisted, " file is not listed", " files are not listed");
}

static void emit_bad_line(struct emitter *e, const struct slot *s, const char *list)
{
    struct text *t = begin_message(e);
    quote_name(t, list);
    text_str(t, ": ");
    text_number(t, s->line);
    text_str(t, ": ");
    if (s->remark) {
        text_str(t, s->remark);
    } else {
        const struct selection *all = &e->options->selection;
        text_str(t, "improperly formatted ");
        if (all->count == 1) {
            text_str(t, all->at[0]->tag);
            text_char(t, ' ');
        }
        text_str(t, "checksum line");
    }
    end_message(e);
}

bool emit(struct emitter *e, struct slot *s)
{
    const char *path = emit_path(e, s);
    if (!path)
        return false;
    switch (s->kind) {
    case SLOT_FILE: emit_file(e, s, path); break;
    case SLOT_TREE: tree_begin(&e->tree, &e->options->selection, s); break;
    case SLOT_TREE_END: emit_tree_end(e, s, path); break;
    case SLOT_FAILURE:
        tree_fail(&e->tree, s->error);
        emit_failure(e, path, NULL, s->error);
        break;
    case SLOT_SKIPPED: emit_note(e, path, s->remark, 0); break;
    case SLOT_BAD_LINE: emit_bad_line(e, s, path); break;
    case SLOT_LIST_BROKEN:
        emit_failure(e, path, s->remark, s->error);
        e->mismatched = e->unreadable = e->matched = e->unsure = 0;
        break;
    case SLOT_LIST_END: emit_list_end(e, s, path); break;
    case SLOT_UNLISTED: emit_unlisted(e, path); break;
    case SLOT_MOVED_END: emit_moved_end(e); break;
    case SLOT_TREES_END: emit_trees_end(e); break;
    }
    if (e->out.text.len >= OUT_FULL)
        emit_flush(e);
    if (e->gone.broken || e->seen.broken)
        e->out.error = -ENOMEM;
    return !(e->failed && e->options->fail_fast);
}
