// A small server of whose paths some cost a known CPU time more than the first.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

// Of an undisturbed CPU at its highest clock: under load the same steps take up to twice as long.
var burned = []time.Duration{350 * time.Nanosecond, 130 * time.Nanosecond}

func main() {
	port := flag.Int("port", 18080, "TCP port on 127.0.0.1")
	threads := flag.Int("threads", 1, "threads that run Go code")
	flag.Parse()
	runtime.GOMAXPROCS(*threads)

	mux, paths := http.NewServeMux(), []string{"/ping"}
	mux.HandleFunc("GET /ping", func(w http.ResponseWriter, _ *http.Request) { hello(w) })
	for _, cost := range burned {
		path, steps := fmt.Sprintf("/burn/%v", cost), stepsIn(cost)
		paths = append(paths, path)
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			burn(steps)
			hello(w)
		})
	}
	for _, path := range paths {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusMethodNotAllowed) })
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusNotFound) })
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", *port))
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{Handler: mux}
	ending := make(chan os.Signal, 1)
	signal.Notify(ending, syscall.SIGTERM, os.Interrupt)
	go func() {
		<-ending
		_ = server.Close()
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
}

func hello(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("Hello, World!"))
}

func refuse(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"error":%q}`, http.StatusText(status))
}

// stepsIn is how many steps of burn take d on an undisturbed CPU: the most of many tries, as nothing makes one quicker.
func stepsIn(d time.Duration) int {
	const steps = 100_000
	best := time.Hour
	for range 200 {
		start := time.Now()
		burn(steps)
		best = min(best, time.Since(start))
	}
	return int(steps * d / best)
}

// burn does one multiplication and addition after the other, each waiting for the last.
//
//go:noinline
func burn(steps int) uint64 {
	x := uint64(steps)
	for range steps {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}
