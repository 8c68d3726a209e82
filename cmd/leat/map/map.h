/* map.h: the command `leat map`. */
#ifndef LEAT_MAP_MAP_H
#define LEAT_MAP_MAP_H

/* Runs the command with its own arguments; argv[0] is its name. Returns the exit status. */
int map_main(int argc, char **argv);

#endif
