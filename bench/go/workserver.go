package main

import (
	"sort"
	"sync"
	"time"
)

type request struct {
	item, turns int
	back        chan int
}

type client struct {
	latencies  []time.Duration // of the short requests
	total      int
	first, ops int
}

const shortNs = 1000

// 64 clients ask, one request at a time each; a goroutine accepts and starts another for each request. One request in
// ten is long.
func workServer(name string) {
	const clients, oneIn = 64, 10
	shortTurns := 0
	var all []client
	serveAll := func(n int) time.Duration {
		requests := make(chan request, clients)
		var asking sync.WaitGroup
		asking.Add(clients)
		all = make([]client, clients)
		for i := range all {
			all[i].ops = n / clients
			all[i].first = i
			all[i].latencies = make([]time.Duration, 0, n/clients)
		}
		start := time.Now()
		go func() {
			for r := range requests {
				go func(r request) { r.back <- r.item + spend(r.turns) }(r)
			}
		}()
		for i := range all {
			go func(me *client) {
				back := make(chan int, 1)
				for i := 0; i < me.ops; i++ {
					r := request{me.first*me.ops + i, shortTurns, back}
					long := (me.first+i)%oneIn == 0
					if long {
						r.turns = turnsAnItem
					}
					asked := time.Now()
					requests <- r
					me.total += <-back
					if !long {
						me.latencies = append(me.latencies, time.Since(asked))
					}
				}
				asking.Done()
			}(&all[i])
		}
		asking.Wait()
		d := time.Since(start)
		close(requests)
		total, shorts := 0, 0
		for i := range all {
			total += all[i].total
			shorts += len(all[i].latencies)
		}
		check("work_server", total, sum(n))
		check("work_server: short ones", shorts, n/oneIn*(oneIn-1))
		return d
	}
	ns, aNs := itemNs(name), turnsANs()
	turnsAnItem, shortTurns = turnsIn(ns, aNs), turnsIn(shortNs, aNs)
	runItems(name, serveAll, itemsFor((ns+shortNs*(oneIn-1))/oneIn, clients*oneIn), clients*oneIn)
	sample(name, "short p99 ns", percentile(shortLatencies(all), 99))
}

func shortLatencies(all []client) (latencies []time.Duration) {
	for i := range all {
		latencies = append(latencies, all[i].latencies...)
	}
	return latencies
}

// Sorts them, and returns the one below which are so many percent.
func percentile(times []time.Duration, percent int) float64 {
	sort.Slice(times, func(a, b int) bool { return times[a] < times[b] })
	at := len(times) * percent / 100
	if at == len(times) {
		at--
	}
	return float64(times[at].Nanoseconds())
}
