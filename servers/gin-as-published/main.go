// Command server decodes and encodes a batch as the published gin handlers did.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

func main() {
	port := flag.Int("port", 0, "TCP port on LISTEN_ADDRESS, or 127.0.0.1")
	threads := flag.Int("threads", 0, "threads that run Go code")
	flag.Parse()
	if flag.NArg() > 0 || *port < 1 || *port > 65535 || *threads < 1 {
		fmt.Fprintln(os.Stderr, "usage: server --port PORT --threads THREADS")
		os.Exit(2)
	}
	runtime.GOMAXPROCS(*threads)
	if err := serve(*port); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

func serve(port int) error {
	listener, err := net.Listen("tcp4", net.JoinHostPort(cmp.Or(os.Getenv("LISTEN_ADDRESS"), "127.0.0.1"), strconv.Itoa(port)))
	if err != nil {
		return err
	}
	server := &http.Server{Handler: newHandler(), ReadHeaderTimeout: time.Minute}
	stop, release := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer release()
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err = <-failed:
		return err
	case <-stop.Done():
	}
	// Requests under way get half a second, then every connection is closed.
	grace, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	if server.Shutdown(grace) != nil {
		return server.Close()
	}
	return nil
}
