/* graph.c: what waits for what, for Graphviz. Scopes are frames, parties ovals, channels boxes,
 * stages arrows. An edge leads from a party to what it waits for; a gray one is the way of the
 * items. */
#include "watch/graph.h"

#include "watch/tell.h"

/* A node's name: a letter for the kind, and the number or, without one, the record's order. */
static void node(struct lt_text *text, const struct lt_record *record)
{
    static const char letters[] = { 't', 'h', 'b', 'k', 'm', 'c', 'd', 'g', 'p' };
    if (record->number && record->thing <= LT_A_CHANNEL)
        lt_text_add(text, "%c%u", letters[record->thing], record->number);
    else
        lt_text_add(text, "%c_%u", letters[record->thing], record->order);
}

/* Adds words to a label, escaped for Graphviz. */
static void label(struct lt_text *text, const char *words)
{
    for (; *words; words++)
        lt_text_add(text, *words == '"' || *words == '\\' ? "\\%c" : "%c",
                    *words == '\n' ? ' ' : *words);
}

static void draw_record(struct lt_text *text, const struct lt_look *look,
                        const struct lt_record *record)
{
    static const char *const looks[] = { "shape=ellipse", "shape=octagon", "shape=egg",
                                         "shape=cds",     "shape=diamond", "shape=box",
                                         "shape=house",   "shape=folder",  "shape=rarrow" };
    static const char *const states[] = { "", "not started", "", "ready", "running" };
    lt_text_add(text, "  ");
    node(text, record);
    lt_text_add(text, " [%s label=\"", looks[record->thing]);
    if (record->thing == LT_A_DESCRIPTOR)
        lt_tell_descriptor(text, record->number);
    else
        lt_text_add(text, "%s", record->what ? record->what : lt_tell_thing(record->thing));
    if (record->number && record->thing <= LT_A_CHANNEL)
        lt_text_add(text, " %u", record->number);
    if (record->name) {
        lt_text_add(text, "\\n");
        label(text, record->name);
    }
    if (record->code) {
        lt_text_add(text, "\\n");
        lt_tell_code(text, record->code);
    }
    if (record->thing == LT_A_CHANNEL)
        lt_text_add(text, "\\n%zu of %zu%s", record->length, record->capacity,
                    record->closed ? ", closed" : "");
    else if (record->thing == LT_A_BATCHER)
        lt_text_add(text, "\\n%zu forming, %zu running", record->forming, record->running);
    else if (record->thing == LT_A_STAGE && record->n)
        lt_text_add(text, "\\n%zu of %u run\\n%u of %u in flight", record->running, record->n,
                    record->held, record->window);
    else if (*states[record->state])
        lt_text_add(text, "\\n%s", states[record->state]);
    else if (record->state == LT_IS_WAITING && record->line)
        lt_text_add(text, "\\nline %u", record->line);
    else if (record->state == LT_IS_WAITING && !record->aims)
        lt_text_add(text, "\\nsleeps");
    if (record->state == LT_IS_WAITING && record->since) {
        lt_text_add(text, "\\nsince ");
        lt_tell_time(text, look->now - record->since);
    }
    lt_text_add(text, "\"%s];\n",
                record->state == LT_IS_RUNNING ? " style=filled fillcolor=palegreen" : "");
}

static void draw_aims(struct lt_text *text, const struct lt_look *look,
                      const struct lt_record *record)
{
    static const char *const words[] = {
        "receive", "send", "join", "end", "call", "read", "write"
    };
    if (!lt_is_party(record->thing) || record->state != LT_IS_WAITING)
        return;
    for (const struct lt_aim_record *aim = record->aims; aim; aim = aim->next) {
        const struct lt_record *object = lt_look_find(look, aim->object, aim->number);
        if (aim->aim == LT_FOR_CALL || (!object && aim->aim != LT_FOR_SCOPE))
            continue;
        lt_text_add(text, "  ");
        node(text, record);
        lt_text_add(text, " -> ");
        if (aim->aim == LT_FOR_SCOPE)
            lt_text_add(text, "s%u", aim->number);
        else
            node(text, object);
        lt_text_add(text, " [label=\"%s\"%s];\n", words[aim->aim],
                    record->aims->next ? " style=dashed" : "");
    }
}

/* The way of the items, through a stage. */
static void draw_ends(struct lt_text *text, const struct lt_record *record)
{
    if (record->thing != LT_A_STAGE)
        return;
    for (const struct lt_aim_record *aim = record->aims; aim; aim = aim->next) {
        bool in = aim->aim == LT_TO_RECEIVE;
        lt_text_add(text, "  ");
        if (in)
            lt_text_add(text, "c%u -> ", aim->number);
        node(text, record);
        if (!in)
            lt_text_add(text, " -> c%u", aim->number);
        lt_text_add(text, " [color=gray style=bold];\n");
    }
}

/* A scope's frame stays open for the scopes inside, which come right after the scope. */
static void draw_scopes(struct lt_text *text, const struct lt_look *look)
{
    unsigned depth = 0, open = 0;
    for (size_t at = look->scope_count ? 0 : LT_NOWHERE; at != LT_NOWHERE;
         at = lt_look_next_scope(look, at, &depth)) {
        const struct lt_scope_record *scope = &look->scopes[at];
        for (; open > depth; open--)
            lt_text_add(text, "  }\n");
        lt_text_add(text, "  subgraph cluster_%u {\n  label=\"scope %u%s\";\n", scope->number,
                    scope->number, scope->cancelled ? ", cancelled" : "");
        lt_text_add(text, "  s%u [shape=point];\n", scope->number);
        open++;
        for (size_t i = lt_look_first_record(look, at);
             i < look->record_count && look->records[i]->place == at; i++)
            draw_record(text, look, look->records[i]);
    }
    for (; open; open--)
        lt_text_add(text, "  }\n");
}

void lt_draw(struct lt_text *text, const struct lt_look *look)
{
    lt_text_add(text, "digraph leat {\n  rankdir=LR;\n");
    draw_scopes(text, look);
    for (size_t i = lt_look_first_record(look, LT_NOWHERE); i < look->record_count; i++)
        draw_record(text, look, look->records[i]);
    for (size_t i = 0; i < look->record_count; i++)
        draw_aims(text, look, look->records[i]);
    for (size_t i = 0; i < look->record_count; i++)
        draw_ends(text, look->records[i]);
    lt_text_add(text, "}\n");
}
