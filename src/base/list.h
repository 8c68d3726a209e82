/* list.h: intrusive doubly linked lists with a head node. A node that is in no list has next NULL,
 * so membership can be asked. No locking of its own. */
#ifndef LT_BASE_LIST_H
#define LT_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct lt_node {
    struct lt_node *next, *prev;
};

static inline void lt_list_init(struct lt_node *head)
{
    head->next = head->prev = head;
}

static inline bool lt_list_empty(const struct lt_node *head)
{
    return head->next == head;
}

static inline bool lt_listed(const struct lt_node *node)
{
    return node->next != NULL;
}

static inline void lt_list_append(struct lt_node *head, struct lt_node *node)
{
    node->next = head;
    node->prev = head->prev;
    head->prev->next = node;
    head->prev = node;
}

static inline void lt_list_remove(struct lt_node *node)
{
    node->next->prev = node->prev;
    node->prev->next = node->next;
    node->next = NULL;
}

/* Moves all nodes of `from` to the end of `to`. */
static inline void lt_list_splice(struct lt_node *to, struct lt_node *from)
{
    if (lt_list_empty(from))
        return;
    from->next->prev = to->prev;
    to->prev->next = from->next;
    from->prev->next = to;
    to->prev = from->prev;
    lt_list_init(from);
}

#endif
