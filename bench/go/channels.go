package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// How a goroutine runs: on any thread, or on its own one.
type how func()

func green()  {}
func thread() { runtime.LockOSThread() }

func pingpong(pinger, ponger how) row {
	return func(n int) time.Duration {
		there, back := make(chan int), make(chan int)
		var both sync.WaitGroup
		var d time.Duration
		both.Add(2)
		go func() {
			ponger()
			for v := range there {
				back <- v + 1
			}
			both.Done()
		}()
		go func() {
			pinger()
			start := time.Now()
			v := 0
			for i := 0; i < n; i++ {
				there <- v + 1
				v = <-back
			}
			d = time.Since(start)
			close(there)
			check("pingpong", v, 2*n)
			both.Done()
		}()
		both.Wait()
		return d
	}
}

func stream(capacity, pairs int, sender, receiver how) row {
	return func(n int) time.Duration {
		ch := make(chan int, capacity)
		var senders, receivers sync.WaitGroup
		var total, count int64
		senders.Add(pairs)
		receivers.Add(pairs)
		start := time.Now()
		for p := 0; p < pairs; p++ {
			p := p
			go func() {
				sender()
				each := n / pairs
				for i := p * each; i < (p+1)*each; i++ {
					ch <- i
				}
				senders.Done()
			}()
		}
		for p := 0; p < pairs; p++ {
			go func() {
				receiver()
				s, c := 0, 0
				for v := range ch {
					s += v
					c++
				}
				atomic.AddInt64(&total, int64(s))
				atomic.AddInt64(&count, int64(c))
				receivers.Done()
			}()
		}
		senders.Wait()
		close(ch)
		receivers.Wait()
		d := time.Since(start)
		check("stream", int(count), n)
		check("stream", int(total), sum(n))
		return d
	}
}

func select4(sender how) row {
	return func(n int) time.Duration {
		var chans [4]chan int
		for i := range chans {
			chans[i] = make(chan int)
		}
		start := time.Now()
		for p := 0; p < 4; p++ {
			p := p
			go func() {
				sender()
				each := n / 4
				for i := p * each; i < (p+1)*each; i++ {
					chans[p] <- i
				}
			}()
		}
		result := make(chan int)
		go func() {
			sender()
			a, b, c, d := chans[0], chans[1], chans[2], chans[3]
			s := 0
			for i := 0; i < n; i++ {
				select {
				case v := <-a:
					s += v
				case v := <-b:
					s += v
				case v := <-c:
					s += v
				case v := <-d:
					s += v
				}
			}
			result <- s
		}()
		s := <-result
		d := time.Since(start)
		check("select", s, sum(n))
		return d
	}
}

func poll1(n int) time.Duration {
	c := make(chan int)
	misses := 0
	start := time.Now()
	for i := 0; i < n; i++ {
		select {
		case <-c:
		default:
			misses++
		}
	}
	d := time.Since(start)
	check("poll_1", misses, n)
	return d
}

func poll4(n int) time.Duration {
	a, b, c, e := make(chan int), make(chan int), make(chan int), make(chan int)
	misses := 0
	start := time.Now()
	for i := 0; i < n; i++ {
		select {
		case <-a:
		case <-b:
		case <-c:
		case <-e:
		default:
			misses++
		}
	}
	d := time.Since(start)
	check("poll_4", misses, n)
	return d
}
