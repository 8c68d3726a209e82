// Go's program of the benchmark: goroutines, channels, select and timers.
// The same rows, environment and output as ../common/bench.h.
package main

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A row does n operations, checks what came of them, and returns the time they took.
type row func(n int) time.Duration

// For rows that are no loop: prints its samples itself.
type once func(name string)

func env(name string, otherwise int) int {
	if v, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return v
	}
	return otherwise
}

func crowd(n int) int { return env("BENCH_CROWD", n) }

func sample(name, metric string, value float64) {
	fmt.Printf("SAMPLE\t%s\t%s\t%.5g\n", name, metric, value)
}

func check(what string, got, want int) {
	if got != want {
		fmt.Fprintf(os.Stderr, "%s: got %d instead of %d\n", what, got, want)
		os.Exit(3)
	}
}

// 0 + 1 + … + n-1
func sum(n int) int { return n * (n - 1) / 2 }

func up(n float64, multiple int) int {
	return (int(n) + multiple - 1) / multiple * multiple
}

func calibrate(multiple int, f row) int {
	enough := float64(env("BENCH_MIN_MS", 150)) * 1e6
	n := up(1000, multiple)
	for {
		ns := float64(f(n))
		if ns >= enough/4 {
			return up(float64(n)*1.2*enough/ns, multiple)
		}
		factor := 20.0
		if ns > 1e6 {
			factor = math.Max(1.1, math.Min(20, 1.25*enough/4/ns))
		}
		n = up(float64(n)*factor, multiple)
	}
}

func run(name string, multiple int, f row) {
	n := up(float64(env("BENCH_OPS", 0)), multiple)
	if n == 0 {
		n = calibrate(multiple, f)
	}
	for i := env("BENCH_REPEATS", 1); i > 0; i-- {
		sample(name, "ns/op", float64(f(n).Nanoseconds())/float64(n))
	}
}

// A field of /proc/self/status that is in kB, in bytes.
func status(field string) float64 {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) >= 2 && words[0] == field+":" {
			kilobytes, _ := strconv.ParseFloat(words[1], 64)
			return kilobytes * 1024
		}
	}
	return 0
}

func cpu() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func main() {
	if len(os.Args) < 2 {
		for _, r := range rows {
			fmt.Println(r.name)
		}
		return
	}
	found := false
	for _, r := range rows {
		if r.name != os.Args[1] && os.Args[1] != "all" {
			continue
		}
		found = true
		if r.once != nil {
			r.once(r.name)
		} else {
			run(r.name, r.multiple, r.row)
		}
	}
	if !found {
		fmt.Fprintln(os.Stderr, "no such row:", os.Args[1])
		os.Exit(2)
	}
}
