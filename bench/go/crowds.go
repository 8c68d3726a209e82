package main

import (
	"context"
	"math/rand"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

func gather(ready *int64, n int) {
	for atomic.LoadInt64(ready) < int64(n) {
		runtime.Gosched()
	}
}

func parked(name string) {
	n := crowd(1000000)
	resident, tables := status("VmRSS"), status("VmPTE")
	ch := make(chan int)
	var ready, total int64
	var all sync.WaitGroup
	all.Add(n)
	start := time.Now()
	for i := 0; i < n; i++ {
		go func() {
			atomic.AddInt64(&ready, 1)
			atomic.AddInt64(&total, int64(<-ch))
			all.Done()
		}()
	}
	gather(&ready, n)
	made := time.Now()
	resident, tables = status("VmRSS")-resident, status("VmPTE")-tables
	again := time.Now()
	for i := 0; i < n; i++ {
		ch <- i
	}
	all.Wait()
	end := time.Now()
	check(name, int(total), sum(n))
	sample(name, "bytes", resident/float64(n))
	sample(name, "page table bytes", tables/float64(n))
	sample(name, "create ns", each(made.Sub(start), n))
	sample(name, "wake ns", each(end.Sub(again), n))
}

func sleepers(name string) {
	n := crowd(1000000)
	r := rand.New(rand.NewSource(1))
	var all sync.WaitGroup
	var woken int64
	all.Add(n)
	before, start := cpu(), time.Now()
	for i := 0; i < n; i++ {
		d := time.Duration(1+r.Intn(1000)) * time.Millisecond
		go func() {
			time.Sleep(d)
			atomic.AddInt64(&woken, 1)
			all.Done()
		}()
	}
	all.Wait()
	end, after := time.Now(), cpu()
	check(name, int(woken), n)
	sample(name, "CPU ns", each(after-before, n))
	sample(name, "wall ms", end.Sub(start).Seconds()*1e3)
}

func cancel(name string) {
	n := crowd(1000000) / 10
	ctx, stop := context.WithCancel(context.Background())
	ch := make(chan int)
	var ready, cancelled int64
	var all sync.WaitGroup
	all.Add(n)
	for i := 0; i < n; i++ {
		go func() {
			atomic.AddInt64(&ready, 1)
			select {
			case <-ch:
			case <-ctx.Done():
				atomic.AddInt64(&cancelled, 1)
			}
			all.Done()
		}()
	}
	gather(&ready, n)
	start := time.Now()
	stop()
	all.Wait()
	d := time.Since(start)
	check(name, int(cancelled), n)
	sample(name, "ns/op", each(d, n))
}

var keep []<-chan time.Time

func timeoutChannel(name string) {
	n := crowd(1000000)
	r := rand.New(rand.NewSource(1))
	keep = make([]<-chan time.Time, n)
	for i := range keep {
		keep[i] = nil
	}
	start := time.Now()
	for i := range keep {
		keep[i] = time.After(time.Duration(1000+r.Intn(1000)) * time.Second)
	}
	d := time.Since(start)
	sample(name, "ns/op", each(d, n))
}

func timer(n int) time.Duration {
	stopped := 0
	start := time.Now()
	for i := 0; i < n; i++ {
		if time.NewTimer(time.Hour).Stop() {
			stopped++
		}
	}
	d := time.Since(start)
	check("timer", stopped, n)
	return d
}
