// bounded.go: the digests of a tree as Go programs are taught to make them: a walk, a bounded number of
// digesters that read whole files, results gathered in a map, sorted, printed.
package main

import (
	"bufio"
	"crypto/md5"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"sync"
)

const digesters = 20

type result struct {
	path string
	sum  [md5.Size]byte
	err  error
}

func walk(done <-chan struct{}, root string) (<-chan string, <-chan error) {
	paths, failed := make(chan string), make(chan error, 1)
	go func() {
		defer close(paths)
		failed <- filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			select {
			case paths <- path:
				return nil
			case <-done:
				return errors.New("given up")
			}
		})
	}()
	return paths, failed
}

func digest(done <-chan struct{}, paths <-chan string, to chan<- result) {
	for path := range paths {
		data, err := os.ReadFile(path)
		select {
		case to <- result{path, md5.Sum(data), err}:
		case <-done:
			return
		}
	}
}

func all(root string) (map[string][md5.Size]byte, error) {
	done := make(chan struct{})
	defer close(done)
	paths, failed := walk(done, root)
	results := make(chan result)
	var running sync.WaitGroup
	running.Add(digesters)
	for i := 0; i < digesters; i++ {
		go func() {
			defer running.Done()
			digest(done, paths, results)
		}()
	}
	go func() {
		running.Wait()
		close(results)
	}()
	sums := make(map[string][md5.Size]byte)
	for r := range results {
		if r.err != nil {
			return nil, r.err
		}
		sums[r.path] = r.sum
	}
	return sums, <-failed
}

func main() {
	sums, err := all(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	paths := make([]string, 0, len(sums))
	for path := range sums {
		paths = append(paths, path)
	}
	sort.Strings(paths)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for _, path := range paths {
		fmt.Fprintf(out, "%x  %s\n", sums[path], path)
	}
}
