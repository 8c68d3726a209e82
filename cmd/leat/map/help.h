/* help.h: what `leat map --help` prints. */
#ifndef LEAT_MAP_HELP_H
#define LEAT_MAP_HELP_H

extern const char help_map[];

#endif
