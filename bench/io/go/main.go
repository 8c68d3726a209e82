// A goroutine for each connection. GOMAXPROCS says how many cores.
package main

import (
	"net"
	"os"
)

func serve(connection net.Conn, sink bool) {
	defer connection.Close()
	size := 1024
	if sink {
		size = 64 * 1024
	}
	buffer := make([]byte, size)
	for {
		n, err := connection.Read(buffer)
		if err != nil {
			return
		}
		if sink {
			continue
		}
		if _, err := connection.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func main() {
	listener, err := net.Listen("tcp4", "127.0.0.1:"+os.Getenv("PORT"))
	if err != nil {
		panic(err)
	}
	for {
		connection, err := listener.Accept()
		if err != nil {
			panic(err)
		}
		go serve(connection, os.Getenv("SINK") == "1")
	}
}
