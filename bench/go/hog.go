package main

import (
	"sync"
	"time"
)

// A thousand, and fewer where a sample need not last as long as it does by itself.
func aboutAThousand() int { return env("BENCH_OPS", env("BENCH_MIN_MS", 150)*20/3) }

// One computes for a second, and a hundred sleep a millisecond at a time: how late do they wake?
func hog(name string) {
	const sleepers = 100
	start := time.Now()
	end := start.Add(time.Duration(aboutAThousand()) * time.Millisecond)
	var late [sleepers][]time.Duration
	var all sync.WaitGroup
	all.Add(sleepers + 1)
	for i := 0; i < sleepers; i++ {
		go func(i int) {
			for now := start; now.Before(end); {
				due := now.Add(time.Millisecond)
				time.Sleep(time.Millisecond)
				now = time.Now()
				late[i] = append(late[i], now.Sub(due))
			}
			all.Done()
		}(i)
	}
	go func() {
		for time.Now().Before(end) {
			check("hog", spend(1000), 0)
		}
		all.Done()
	}()
	all.Wait()
	var together []time.Duration
	for i := range late {
		together = append(together, late[i]...)
	}
	sample(name, "sleeps", float64(len(together)))
	sample(name, "late median ns", percentile(together, 50))
	sample(name, "late worst ns", percentile(together, 100))
}

// A goroutine sends to another, which waits, and computes for two milliseconds: how soon does another core begin the
// receiver?
func join(name string) {
	turns := turnsIn(2e6, turnsANs(name))
	times := make([]time.Duration, aboutAThousand())
	for i := range times {
		here, items, begun := make(chan int), make(chan int), make(chan time.Time)
		go func() {
			here <- 1
			<-items
			begun <- time.Now()
		}()
		<-here
		time.Sleep(time.Millisecond / 5) // the other core has nothing to do, and has known it for a while
		ready := time.Now()
		items <- 1
		check("join", spend(turns), 0)
		times[i] = (<-begun).Sub(ready)
	}
	sample(name, "pairs", float64(len(times)))
	sample(name, "median ns", percentile(times, 50))
	sample(name, "worst ns", percentile(times, 100))
}
