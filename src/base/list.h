/* list.h: intrusive doubly linked lists with a head node. A node that is in no list has next NULL.
 *
 * The caller locks. Links are written by atomic stores, so that code without the lock may read one,
 * but only to prefetch the node that it points to. */
#pragma once

#include "base/util.h"

#include <stdbool.h>
#include <stddef.h>

struct lt_node {
    struct lt_node *next, *prev;
};

/* Relaxed: see above. */
static inline void lt_list_link(struct lt_node *node, struct lt_node *next)
{
    __atomic_store_n(&node->next, next, __ATOMIC_RELAXED);
    __atomic_store_n(&next->prev, node, __ATOMIC_RELAXED);
}

static inline void lt_list_init(struct lt_node *head)
{
    lt_list_link(head, head);
}

static inline bool lt_list_empty(const struct lt_node *head)
{
    return head->next == head;
}

/* The structure of type T whose member M is the list's first node; NULL if the list is empty. */
#define LT_FIRST(LIST, T, M) (lt_list_empty(LIST) ? NULL : LT_CONTAINER((LIST)->next, T, M))

static inline bool lt_listed(const struct lt_node *node)
{
    return node->next != NULL;
}

static inline void lt_list_append(struct lt_node *head, struct lt_node *node)
{
    lt_list_link(head->prev, node);
    lt_list_link(node, head);
}

static inline void lt_list_remove(struct lt_node *node)
{
    lt_list_link(node->prev, node->next);
    __atomic_store_n(&node->next, NULL, __ATOMIC_RELAXED);
}

/* Moves all nodes of `from` to the end of `to`. */
static inline void lt_list_splice(struct lt_node *to, struct lt_node *from)
{
    if (lt_list_empty(from))
        return;
    lt_list_link(to->prev, from->next);
    lt_list_link(from->prev, to);
    lt_list_init(from);
}

/* Prefetches the nodes before and after. Needs no lock, but the node must stay in its list
 * meanwhile. */
LT_FETCHES void lt_list_fetch_neighbours(const struct lt_node *node)
{
    __builtin_prefetch(__atomic_load_n(&node->next, __ATOMIC_RELAXED), 1);
    __builtin_prefetch(__atomic_load_n(&node->prev, __ATOMIC_RELAXED), 1);
}
