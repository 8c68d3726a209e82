#include "base/index.h"

#include <stddef.h>

/* One to one: a product with an odd number and an xor with the upper half can be undone. */
static uint64_t hash(uint64_t key)
{
    key ^= key >> 32;
    key *= UINT64_C(0x9e3779b97f4a7c15);
    key ^= key >> 32;
    return key * UINT64_C(0x9e3779b97f4a7c15);
}

/* The link to the key's node, or the empty link where it belongs. */
static struct lt_indexed **link_to(struct lt_index *index, uint64_t key)
{
    struct lt_indexed **at = &index->root;
    for (uint64_t path = hash(key); *at && (*at)->key != key; path <<= 1)
        at = &(*at)->child[path >> 63];
    return at;
}

struct lt_indexed *lt_index_find(struct lt_index *index, uint64_t key)
{
    return *link_to(index, key);
}

void lt_index_add(struct lt_index *index, struct lt_indexed *added, uint64_t key)
{
    *added = (struct lt_indexed){ .key = key };
    *link_to(index, key) = added;
}

/* Any leaf below shares the removed node's path down to here, and so can take its place. */
void lt_index_remove(struct lt_index *index, struct lt_indexed *removed)
{
    struct lt_indexed **at = &index->root, **leaf;
    for (uint64_t path = hash(removed->key); *at != removed; path <<= 1)
        at = &(*at)->child[path >> 63];
    leaf = at;
    while ((*leaf)->child[0] || (*leaf)->child[1])
        leaf = &(*leaf)->child[(*leaf)->child[0] == NULL];
    struct lt_indexed *moved = *leaf;
    *leaf = NULL;
    if (moved == removed)
        return;
    moved->child[0] = removed->child[0];
    moved->child[1] = removed->child[1];
    *at = moved;
}
