/* help.h: the text of `leat map --help`. */
#pragma once

extern const char help_map[];
