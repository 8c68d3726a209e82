/* work.h: the rows whose items take time to compute. main.c names them. */
#pragma once

#include "../common/work.h"
#include "rows.h"

/* Receives items, computes a while for each, and sends it. The argument is a party. */
leat_fn work_pass;

bench_once_fn work_fan, work_crowd, work_crowd_blocks, work_chain, work_ordered, work_server;
bench_once_fn hog, join, parallel_for, parallel_for_singly;
