package main

import "time"

type named struct {
	name     string
	multiple int
	row      row
	once     once
}

var rows = append([]named{
	{"yield", 2, yield, nil},
	{"pingpong", 1, pingpong(green, green), nil},
	{"unbuffered_1to1", 1, stream(0, 1, green, green), nil},
	{"unbuffered_4to4", 4, stream(0, 4, green, green), nil},
	{"buffered_1to1", 1, stream(128, 1, green, green), nil},
	{"buffered_4to4", 4, stream(128, 4, green, green), nil},
	{"select_4", 4, select4(green), nil},
	{"poll_1", 1, poll1, nil},
	{"poll_4", 1, poll4, nil},
	{"spawn_1", 1, spawn(1), nil},
	{"spawn_1000", 1000, spawn(1000), nil},
	{"server", 128, server, nil},
	{"parked", 1, nil, parked},
	{"ring", 1, ring, nil},
	{"sieve", 1, nil, sieve},
	{"sleepers", 1, nil, sleepers},
	{"timeout_channel", 1, nil, timeoutChannel},
	{"timer", 1, timer, nil},
	{"pipeline", 1, pipeline, nil},
	{"ordered_map", 1, orderedMap, nil},
	{"cancel", 1, nil, cancel},
	{"hog", 1, nil, hog},
	{"join", 1, nil, join},
	{"thread_pingpong", 1, pingpong(thread, thread), nil},
	{"thread_buffered_1to1", 1, stream(128, 1, thread, thread), nil},
	{"thread_buffered_4to4", 4, stream(128, 4, thread, thread), nil},
	{"thread_select_4", 4, select4(thread), nil},
	{"thread_to_task", 1, stream(128, 1, thread, green), nil},
	{"task_to_thread", 1, stream(128, 1, green, thread), nil},
	{"thread_task_pingpong", 1, pingpong(thread, green), nil},
}, workRows()...)

// A row for each size of the items' work.
func workRows() (rows []named) {
	for _, shape := range []struct {
		name string
		once once
	}{
		{"work_fan", work(fan, 1, 1)},
		{"work_crowd", work(workCrowd, 1, 64)},
		{"work_chain", work(chain, 3, 1)},
		{"work_ordered", work(ordered, 1, 1)},
		{"work_server", workServer},
	} {
		for _, size := range []string{"1us", "5us", "20us", "100us", "1000us"} {
			rows = append(rows, named{shape.name + "_" + size, 1, nil, shape.once})
		}
	}
	return rows
}

// Nanoseconds for each of n.
func each(d time.Duration, n int) float64 {
	return float64(d.Nanoseconds()) / float64(n)
}
