/* graph.c: who waits for whom, for Graphviz: scopes are frames, parties ovals, channels boxes, and an edge
 * leads from a party to what it waits for. */
#include "watch/tell.h"

/* A node's name: a letter for the kind, and the number, or where there is none the note's place. */
static void node(struct lt_text *text, const struct lt_note *note)
{
    static const char letters[] = { 't', 'h', 'b', 'k', 'm', 'c' };
    if (note->number)
        lt_text_add(text, "%c%u", letters[note->thing], note->number);
    else
        lt_text_add(text, "%c_%u", letters[note->thing], note->order);
}

/* Within a label: what Graphviz would take for itself. */
static void label(struct lt_text *text, const char *words)
{
    for (; *words; words++)
        lt_text_add(text, *words == '"' || *words == '\\' ? "\\%c" : "%c",
                    *words == '\n' ? ' ' : *words);
}

static void draw_note(struct lt_text *text, const struct lt_look *look, const struct lt_note *note)
{
    static const char *const looks[] = { "shape=ellipse", "shape=octagon", "shape=egg",
                                         "shape=cds",     "shape=diamond", "shape=box" };
    static const char *const states[] = { "", "not started", "", "ready", "running" };
    lt_text_add(text, "  ");
    node(text, note);
    lt_text_add(text, " [%s label=\"%s", looks[note->thing], lt_tell_thing(note->thing));
    if (note->number)
        lt_text_add(text, " %u", note->number);
    if (note->name) {
        lt_text_add(text, "\\n");
        label(text, note->name);
    }
    if (note->code) {
        lt_text_add(text, "\\n");
        lt_tell_code(text, note->code);
    }
    if (note->thing == LT_A_CHANNEL)
        lt_text_add(text, "\\n%zu of %zu%s", note->length, note->capacity,
                    note->closed ? ", closed" : "");
    else if (*states[note->state])
        lt_text_add(text, "\\n%s", states[note->state]);
    else if (note->state == LT_IS_WAITING && note->line)
        lt_text_add(text, "\\nline %u", note->line);
    else if (note->state == LT_IS_WAITING && !note->aims)
        lt_text_add(text, "\\nsleeps");
    if (note->state == LT_IS_WAITING && note->since) {
        lt_text_add(text, "\\nsince ");
        lt_tell_time(text, look->now - note->since);
    }
    lt_text_add(text, "\"%s];\n",
                note->state == LT_IS_RUNNING ? " style=filled fillcolor=palegreen" : "");
}

static void draw_aims(struct lt_text *text, const struct lt_look *look, const struct lt_note *note)
{
    static const char *const words[] = { "receive", "send", "join", "end", "call" };
    if (note->thing == LT_A_CHANNEL || note->state != LT_IS_WAITING)
        return;
    for (const struct lt_aim_note *aim = note->aims; aim; aim = aim->next) {
        const struct lt_note *object = lt_look_find(look, aim->object, aim->number);
        if (aim->aim == LT_FOR_CALL || (!object && aim->aim != LT_FOR_SCOPE))
            continue;
        lt_text_add(text, "  ");
        node(text, note);
        lt_text_add(text, " -> ");
        if (aim->aim == LT_FOR_SCOPE)
            lt_text_add(text, "s%u", aim->number);
        else
            node(text, object);
        lt_text_add(text, " [label=\"%s\"%s];\n", words[aim->aim],
                    note->aims->next ? " style=dashed" : "");
    }
}

/* A frame stays open for those inside, which come right after it. */
static void draw_scopes(struct lt_text *text, const struct lt_look *look)
{
    unsigned depth = 0, open = 0;
    for (size_t at = look->scope_count ? 0 : LT_NOWHERE; at != LT_NOWHERE;
         at = lt_look_next_scope(look, at, &depth)) {
        const struct lt_scope_note *scope = &look->scopes[at];
        for (; open > depth; open--)
            lt_text_add(text, "  }\n");
        lt_text_add(text, "  subgraph cluster_%u {\n  label=\"scope %u%s\";\n", scope->number,
                    scope->number, scope->cancelled ? ", cancelled" : "");
        lt_text_add(text, "  s%u [shape=point];\n", scope->number);
        open++;
        for (size_t i = lt_look_first_note(look, at);
             i < look->note_count && look->notes[i]->place == at; i++)
            draw_note(text, look, look->notes[i]);
    }
    for (; open; open--)
        lt_text_add(text, "  }\n");
}

void lt_draw(struct lt_text *text, const struct lt_look *look)
{
    lt_text_add(text, "digraph leat {\n  rankdir=LR;\n");
    draw_scopes(text, look);
    for (size_t i = lt_look_first_note(look, LT_NOWHERE); i < look->note_count; i++)
        draw_note(text, look, look->notes[i]);
    for (size_t i = 0; i < look->note_count; i++)
        draw_aims(text, look, look->notes[i]);
    lt_text_add(text, "}\n");
}
