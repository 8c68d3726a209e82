/* help.h: the text of `leat map --help`. */
#ifndef LEAT_MAP_HELP_H
#define LEAT_MAP_HELP_H

extern const char help_map[];

#endif
