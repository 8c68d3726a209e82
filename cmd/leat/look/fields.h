/* fields.h: the fields of JSON objects, checked.
 *
 * A field that is missing, or of a wrong type or value, is a trouble that names the field. The call
 * then returns a harmless value, so the caller checks once, at the end. Strings belong to the
 * JSON. */
#pragma once

#include "look/trouble.h"

#include <jansson.h>

struct fields {
    json_t *object;
    const char *list; /* the list that has the object, for the message; NULL: it is the document */
    size_t at;
    struct trouble *why;
};

enum nullable { NEVER_NULL, MAYBE_NULL };

/* The n-th element of a list, which has to be an object. */
struct fields fields_at(json_t *array, size_t at, const char *list, struct trouble *why);

/* NULL for null. */
const char *field_string(const struct fields *f, const char *name, enum nullable n);

/* NAN for null. */
double field_number(const struct fields *f, const char *name, enum nullable n);

/* A whole number from 0; NAN for null. */
double field_count(const struct fields *f, const char *name, enum nullable n);
bool field_bool(const struct fields *f, const char *name);

/* NULL for null, and after a trouble: to jansson this is a list without elements. */
json_t *field_array(const struct fields *f, const char *name, enum nullable n);

/* An object within the object; its name is that of the field. */
struct fields field_object(const struct fields *f, const char *name);
