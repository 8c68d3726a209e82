package main

import (
	"sync"
	"time"
)

// A goroutine accepts requests and starts another for each: ../common/requests.h defines them. How many a second, when
// 64 clients ask, one request at a time each; and how long short ones take, when they come at a pace.

const (
	clients  = 64
	oneIn    = 10
	shortNs  = 1000
	multiple = clients * oneIn
)

type requests struct {
	longTurns, shortTurns int
	meanNs                float64
}

func requestsOf(name string) requests {
	ns, aNs := itemNs(name), turnsANs(name)
	return requests{turnsIn(ns, aNs), turnsIn(shortNs, aNs), (ns + (oneIn-1)*shortNs) / oneIn}
}

func (r requests) turns(i int) int {
	if i%oneIn == 0 {
		return r.longTurns
	}
	return r.shortTurns
}

func workServer(name string) {
	kinds := requestsOf(name)
	serve := func(n int) time.Duration { return serveClients(kinds, n) }
	runItems(name, serve, itemsFor(kinds.meanNs, multiple), multiple)
	serveAtPace(name, kinds)
}

type request struct {
	item int
	back chan int
}

func serveClients(kinds requests, n int) time.Duration {
	asked := make(chan request, clients)
	var all sync.WaitGroup
	var totals [clients]int
	all.Add(clients)
	start := time.Now()
	go func() {
		for r := range asked {
			go func(r request) { r.back <- r.item + spend(kinds.turns(r.item)) }(r)
		}
	}()
	for c := 0; c < clients; c++ {
		go func(c int) {
			back := make(chan int, 1)
			total := 0
			for i := n / clients * c; i < n/clients*(c+1); i++ {
				asked <- request{i, back}
				total += <-back
			}
			totals[c] = total
			all.Done()
		}(c)
	}
	all.Wait()
	d := time.Since(start)
	close(asked)
	total := 0
	for _, t := range totals {
		total += t
	}
	check("work_server", total, sum(n))
	return d
}

type arrival struct {
	due, took     time.Duration
	turns, served int
	long          bool
}

// Each millisecond as many as need half of it on all cores.
func arrivals(kinds requests) []arrival {
	bursts := env("BENCH_MIN_MS", 150)
	rate := 0.5 * float64(env("BENCH_CORES", 1)) * 1e6 / kinds.meanNs
	all := make([]arrival, up(float64(env("BENCH_OPS", int(rate*float64(bursts)))), oneIn))
	for i := range all {
		due := time.Duration(i*bursts/len(all)) * time.Millisecond
		all[i] = arrival{due: due, turns: kinds.turns(i), long: i%oneIn == 0}
	}
	return all
}

func serveAtPace(name string, kinds requests) {
	all := arrivals(kinds)
	var served sync.WaitGroup
	served.Add(len(all))
	start := time.Now()
	for i := range all {
		if wait := all[i].due - time.Since(start); wait > 0 {
			time.Sleep(wait)
		}
		go func(a *arrival) {
			a.served += 1 + spend(a.turns)
			a.took = time.Since(start) - a.due
			served.Done()
		}(&all[i])
	}
	served.Wait()
	var short []time.Duration
	once := 0
	for _, a := range all {
		if a.served == 1 {
			once++
		}
		if !a.long {
			short = append(short, a.took)
		}
	}
	check(name, once, len(all))
	sample(name, "short p99 ns", percentile(short, 99))
}
