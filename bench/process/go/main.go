// jobs N P [capture] PROGRAM ARGS…: os/exec, P at a time; with capture the outputs in the order of
// the programs.
package main

import (
	"os"
	"os/exec"
	"strconv"
	"sync"
)

func runAll(n, p int, command []string) {
	var wait sync.WaitGroup
	room := make(chan struct{}, p)
	for i := 0; i < n; i++ {
		room <- struct{}{}
		wait.Add(1)
		go func() {
			defer func() { <-room; wait.Done() }()
			if err := exec.Command(command[0], command[1:]...).Run(); err != nil {
				panic(err)
			}
		}()
	}
	wait.Wait()
}

func captureAll(n, p int, command []string) {
	outputs := make(chan chan []byte, p)
	room := make(chan struct{}, p)
	go func() {
		for i := 0; i < n; i++ {
			room <- struct{}{}
			output := make(chan []byte, 1)
			outputs <- output
			go func() {
				bytes, err := exec.Command(command[0], command[1:]...).Output()
				if err != nil {
					panic(err)
				}
				<-room
				output <- bytes
			}()
		}
		close(outputs)
	}()
	for output := range outputs {
		os.Stdout.Write(<-output)
	}
}

func main() {
	n, _ := strconv.Atoi(os.Args[1])
	p, _ := strconv.Atoi(os.Args[2])
	if os.Args[3] == "capture" {
		captureAll(n, p, os.Args[4:])
	} else {
		runAll(n, p, os.Args[3:])
	}
}
