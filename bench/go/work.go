package main

import (
	"math"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Items that compute for a while. The work is a chain of multiplications, each of which needs the one before, as in
// ../common/work.h, and so is how many items there are.

var turnsAnItem int // of the row that runs

func step(x uint64) uint64 { return (x * 6364136223846793005) ^ (x >> 32) }

func turns(n int) uint64 {
	x := uint64(1)
	for i := 0; i < n; i++ {
		x = step(step(step(step(x))))
	}
	return x
}

// Does n turns. The compiler does not know that it is always 0.
func spend(n int) int {
	if turns(n) == 0 {
		return 1
	}
	return 0
}

func compute() int { return spend(turnsAnItem) }

// The best of 200: what disturbed the others is no part of the loop.
func turnsANs(name string) float64 {
	const often = 25000
	best := time.Hour
	for i := 0; i < 200; i++ {
		start := time.Now()
		s := spend(often)
		if d := time.Since(start); d < best {
			best = d
		}
		check(name, s, 0)
	}
	sample(name, "turns/us", 1e3*often/float64(best.Nanoseconds()))
	return often / float64(best.Nanoseconds())
}

func turnsIn(ns, turnsANs float64) int { return int(math.Max(1, ns*turnsANs)) }

// The microseconds of an item's work stand in the row's name: work_fan_20us.
func itemNs(name string) float64 {
	us, _ := strconv.Atoi(strings.TrimSuffix(name[strings.LastIndex(name, "_")+1:], "us"))
	return 1e3 * float64(us)
}

// So many that they keep one core busy for 4/3 of the time that a sample has to last, but at least 160.
func itemsFor(nsAnItem float64, multiple int) int {
	n := float64(env("BENCH_OPS", 0))
	if n == 0 {
		n = math.Max(160, 4e6/3*float64(env("BENCH_MIN_MS", 150))/nsAnItem)
	}
	return up(n, multiple)
}

// A sample of n items, with what they cost in CPU time, after a tenth of them to warm up.
func runItems(name string, shape row, n, multiple int) {
	shape(up(float64(n)/10, multiple))
	for i := env("BENCH_REPEATS", 1); i > 0; i-- {
		before := cpu()
		d := shape(n)
		after := cpu()
		sample(name, "ns/op", each(d, n))
		sample(name, "CPU ns", each(after-before, n))
	}
}

// A shape in which every item is worked on `times` times.
func work(shape row, times, multiple int) once {
	return func(name string) {
		ns := itemNs(name)
		turnsAnItem = turnsIn(ns, turnsANs(name))
		runItems(name, shape, itemsFor(ns*float64(times), multiple), multiple)
	}
}

// Sorts the times, and returns the one that `percent` of them are below.
func percentile(times []time.Duration, percent int) float64 {
	sort.Slice(times, func(a, b int) bool { return times[a] < times[b] })
	at := len(times) * percent / 100
	if at == len(times) {
		at--
	}
	return float64(times[at].Nanoseconds())
}

func feed(to chan<- int, n int) {
	for i := 0; i < n; i++ {
		to <- i
	}
	close(to)
}

func collect(what string, from <-chan int, n int) {
	total, count := 0, 0
	for v := range from {
		total += v
		count++
	}
	check(what, count, n)
	check(what, total, sum(n))
}

// One feeds, eight work, and the caller collects; no channel has room.
func fan(n int) time.Duration {
	const workers = 8
	in, out := make(chan int), make(chan int)
	var all sync.WaitGroup
	all.Add(workers)
	start := time.Now()
	go feed(in, n)
	for i := 0; i < workers; i++ {
		go func() {
			for v := range in {
				out <- v + compute()
			}
			all.Done()
		}()
	}
	go func() {
		all.Wait()
		close(out)
	}()
	collect("work_fan", out, n)
	return time.Since(start)
}

// 64 that live long, each with its own channel, are given an item each in turn, and then all results are awaited.
func workCrowd(n int) time.Duration {
	const members = 64
	var in [members]chan int
	out := make(chan int, members)
	for i := range in {
		in[i] = make(chan int, 1)
		go func(in chan int) {
			for v := range in {
				out <- v + compute()
			}
		}(in[i])
	}
	total := 0
	start := time.Now()
	for first := 0; first < n; first += members {
		for i := range in {
			in[i] <- first + i
		}
		for range in {
			total += <-out
		}
	}
	d := time.Since(start)
	for i := range in {
		close(in[i])
	}
	check("work_crowd", total, sum(n))
	return d
}

func chain(n int) time.Duration {
	var chans [4]chan int
	for i := range chans {
		chans[i] = make(chan int, 16)
	}
	start := time.Now()
	go feed(chans[0], n)
	for i := 0; i < 3; i++ {
		go func(in, out chan int) {
			for v := range in {
				out <- v + compute()
			}
			close(out)
		}(chans[i], chans[i+1])
	}
	collect("work_chain", chans[3], n)
	return time.Since(start)
}

// Eight at a time, a goroutine for each item, results in order.
func ordered(n int) time.Duration {
	slots := make(chan chan int, 8)
	start := time.Now()
	go func() {
		for i := 0; i < n; i++ {
			slot := make(chan int, 1)
			slots <- slot
			go func(v int) { slot <- v + compute() }(i)
		}
		close(slots)
	}()
	count := 0
	for slot := range slots {
		if v := <-slot; v != count {
			check("work_ordered", v, count)
		}
		count++
	}
	d := time.Since(start)
	check("work_ordered", count, n)
	return d
}
