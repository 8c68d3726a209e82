package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

func yield(n int) time.Duration {
	var both sync.WaitGroup
	var total int64
	both.Add(2)
	start := time.Now()
	for k := 0; k < 2; k++ {
		go func() {
			c := 0
			for i := 0; i < n/2; i++ {
				runtime.Gosched()
				c++
			}
			atomic.AddInt64(&total, int64(c))
			both.Done()
		}()
	}
	both.Wait()
	d := time.Since(start)
	check("yield", int(total), n)
	return d
}

func spawn(together int) row {
	return func(n int) time.Duration {
		var all sync.WaitGroup
		var ran int64
		start := time.Now()
		for i := 0; i < n; i += together {
			all.Add(together)
			for j := 0; j < together; j++ {
				go func() {
					atomic.AddInt64(&ran, 1)
					all.Done()
				}()
			}
			all.Wait()
		}
		d := time.Since(start)
		check("spawn", int(ran), n)
		return d
	}
}

// Two accept, on as many cores as there are, 64 requests at a time, of which each waits once.
func server(n int) time.Duration {
	const acceptors, atATime = 2, 64
	var all sync.WaitGroup
	var begun int64
	cores := int64(runtime.GOMAXPROCS(0))
	var got [acceptors]struct {
		total, count int64
		_            [112]byte // no line of it is another's
	}
	all.Add(acceptors)
	start := time.Now()
	for a := 0; a < acceptors; a++ {
		a := a
		go func() {
			mine := &got[a]
			c := make(chan int)
			atomic.AddInt64(&begun, 1)
			for b := int64(0); b < acceptors && b < cores; b = atomic.LoadInt64(&begun) {
			}
			for i := n / acceptors * a; i < n/acceptors*(a+1); {
				all.Add(atATime)
				for k := 0; k < atATime; k++ {
					go func() {
						atomic.AddInt64(&mine.total, int64(<-c))
						atomic.AddInt64(&mine.count, 1)
						all.Done()
					}()
				}
				for k := 0; k < atATime; k, i = k+1, i+1 {
					c <- i
				}
			}
			all.Done()
		}()
	}
	all.Wait()
	d := time.Since(start)
	check("server", int(got[0].count+got[1].count), n)
	check("server", int(got[0].total+got[1].total), sum(n))
	return d
}

// The token counts down; a negative one goes round once and ends all.
func ring(n int) time.Duration {
	const members = 1000
	var chans [members]chan int
	for i := range chans {
		chans[i] = make(chan int)
	}
	done := make(chan int)
	var all sync.WaitGroup
	var hops int64
	all.Add(members)
	for i := 0; i < members; i++ {
		i := i
		go func() {
			in, out := chans[i], chans[(i+1)%members]
			h := 0
			for {
				v := <-in
				if v <= 0 {
					if i != members-1 {
						out <- v
					}
					break
				}
				h++
				if v == 1 {
					done <- 1
				} else {
					out <- v - 1
				}
			}
			atomic.AddInt64(&hops, int64(h))
			all.Done()
		}()
	}
	start := time.Now()
	chans[0] <- n
	<-done
	d := time.Since(start)
	chans[0] <- -1
	all.Wait()
	check("ring", int(hops), n)
	return d
}

// The goroutines of the sieve are left: the process ends after one.
func sieve(name string) {
	start := time.Now()
	ch := make(chan int)
	go func(ch chan int) {
		for i := 2; ; i++ {
			ch <- i
		}
	}(ch)
	prime := 0
	for i := 0; i < 2000; i++ {
		prime = <-ch
		next := make(chan int)
		go func(in, out chan int, prime int) {
			for {
				v := <-in
				if v%prime != 0 {
					out <- v
				}
			}
		}(ch, next, prime)
		ch = next
	}
	d := time.Since(start)
	check("sieve", prime, 17389)
	sample(name, "ms", d.Seconds()*1e3)
}

func pipeline(n int) time.Duration {
	var chans [4]chan int
	for i := range chans {
		chans[i] = make(chan int, 64)
	}
	start := time.Now()
	go func() {
		for i := 0; i < n; i++ {
			chans[0] <- i
		}
		close(chans[0])
	}()
	for s := 0; s < 3; s++ {
		s := s
		go func() {
			for v := range chans[s] {
				chans[s+1] <- v + 1
			}
			close(chans[s+1])
		}()
	}
	total, count := 0, 0
	for v := range chans[3] {
		total += v
		count++
	}
	d := time.Since(start)
	check("pipeline", count, n)
	check("pipeline", total, sum(n)+3*n)
	return d
}

type job struct {
	v   int
	res chan int
}

func orderedMap(n int) time.Duration {
	const workers = 2
	in, out := make(chan int, 64), make(chan int, 64)
	jobs, results := make(chan job, workers), make(chan chan int, workers)
	start := time.Now()
	go func() {
		for i := 0; i < n; i++ {
			in <- i
		}
		close(in)
	}()
	go func() {
		for v := range in {
			j := job{v, make(chan int, 1)}
			jobs <- j
			results <- j.res
		}
		close(jobs)
		close(results)
	}()
	for w := 0; w < workers; w++ {
		go func() {
			for j := range jobs {
				j.res <- j.v + 1
			}
		}()
	}
	go func() {
		for r := range results {
			out <- <-r
		}
		close(out)
	}()
	count := 0
	for v := range out {
		count++
		if v != count {
			check("ordered_map", v, count)
		}
	}
	d := time.Since(start)
	check("ordered_map", count, n)
	return d
}
