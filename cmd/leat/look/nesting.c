#include "look/nesting.h"

bool nesting_is_sane(const char *bytes, size_t len)
{
    size_t depth = 0, values = 1;
    bool in_string = false;
    for (size_t i = 0; i < len && depth <= NESTING_MOST && values <= VALUES_MOST; i++) {
        char c = bytes[i];
        if (in_string && c == '\\')
            i++;
        else if (c == '"')
            in_string = !in_string;
        else if (!in_string && (c == '[' || c == '{'))
            depth++;
        else if (!in_string && (c == ']' || c == '}') && depth)
            depth--;
        if (!in_string && (c == ',' || c == '[' || c == '{'))
            values++;
    }
    return depth <= NESTING_MOST && values <= VALUES_MOST;
}
