/* map.h: the command `leat map`. */
#pragma once

/* Runs the command with its own arguments; argv[0] is its name. Returns the exit status. */
int map_main(int argc, char **argv);
