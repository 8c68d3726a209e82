// The rows whose items cost something, and what they share. bench.cpp names the rows.
#pragma once

#include <boost/fiber/all.hpp>

#include "../common/work.h"

using item_t = int64_t;
using unbuffered = boost::fibers::unbuffered_channel<item_t>;
using buffered = boost::fibers::buffered_channel<item_t>;

static constexpr auto success = boost::fibers::channel_op_status::success;

bench_once_fn work_fan, work_crowd, work_chain, work_ordered, work_server, hog;
