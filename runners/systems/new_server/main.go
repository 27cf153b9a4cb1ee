// Command server serves the contract's ping.
package main

import (
	"context"
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

func main() {
	port := flag.Int("port", 18080, "TCP port on 127.0.0.1")
	threads := flag.Int("threads", 1, "threads that run Go code")
	flag.Parse()
	runtime.GOMAXPROCS(*threads)

	listener, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", *port))
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{Handler: newHandler(), ReadHeaderTimeout: time.Minute}
	stop, release := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer release()
	go func() {
		// The contract: it ends within a second of SIGTERM, whoever is still connected.
		<-stop.Done()
		_ = server.Close()
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
}

func newHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ping", ping)
	// Without a method: whoever comes here has used another one.
	mux.HandleFunc("/ping", refuse(http.StatusMethodNotAllowed))
	mux.HandleFunc("/", refuse(http.StatusNotFound))
	return mux
}

func ping(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	_, _ = w.Write([]byte("Hello, World!"))
}

// refuse responds to everything with an error's status and the contract's body for it.
func refuse(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, "{\"error\":%q}", http.StatusText(status))
	}
}
