#include "look/fields.h"

#include <math.h>

static void refuse(const struct fields *f, const char *name, const char *wanted)
{
    if (!f->list)
        trouble_say(f->why, "its document is wrong: %s is not %s", name, wanted);
    else
        trouble_say(f->why, "its document is wrong: %s of %s %zu is not %s", name, f->list, f->at,
                    wanted);
}

/* NULL for an allowed null, and after a trouble. */
static json_t *find(const struct fields *f, const char *name, enum nullable n)
{
    json_t *found = json_object_get(f->object, name);
    if (!found) {
        refuse(f, name, "there");
        return NULL;
    }
    if (json_is_null(found) && n == NEVER_NULL)
        refuse(f, name, "known");
    return json_typeof(found) == JSON_NULL ? NULL : found;
}

struct fields fields_at(json_t *array, size_t at, const char *list, struct trouble *why)
{
    struct fields f = { json_array_get(array, at), list, at, why };
    if (!json_is_object(f.object))
        trouble_say(why, "its document is wrong: %s %zu is not an object", list, at);
    return f;
}

const char *field_string(const struct fields *f, const char *name, enum nullable n)
{
    json_t *found = find(f, name, n);
    if (found && !json_is_string(found))
        refuse(f, name, "a string");
    const char *string = json_string_value(found);
    return string || n == MAYBE_NULL ? string : "";
}

double field_number(const struct fields *f, const char *name, enum nullable n)
{
    json_t *found = find(f, name, n);
    if (found && !json_is_number(found))
        refuse(f, name, "a number");
    return found ? json_number_value(found) : (double)NAN;
}

double field_count(const struct fields *f, const char *name, enum nullable n)
{
    json_t *found = find(f, name, n);
    if (found && (!json_is_integer(found) || json_integer_value(found) < 0))
        refuse(f, name, "a count");
    return found ? (double)json_integer_value(found) : (double)NAN;
}

bool field_bool(const struct fields *f, const char *name)
{
    json_t *found = find(f, name, NEVER_NULL);
    if (found && !json_is_boolean(found))
        refuse(f, name, "true or false");
    return json_is_true(found);
}

json_t *field_array(const struct fields *f, const char *name, enum nullable n)
{
    json_t *found = find(f, name, n);
    if (found && !json_is_array(found))
        refuse(f, name, "a list");
    return json_is_array(found) ? found : NULL;
}

struct fields field_object(const struct fields *f, const char *name)
{
    struct fields inner = { find(f, name, NEVER_NULL), name, 0, f->why };
    if (inner.object && !json_is_object(inner.object))
        refuse(f, name, "an object");
    return inner;
}
