// Command server serves the workloads of the contract with net/http.
package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"shared/batch"
	"shared/cpuprofile"
)

const usage = "usage: server --port PORT --threads THREADS [--tls-port PORT] [--backend-port PORT] [--pool CONNECTIONS] [--cpuprofile FILE]"

const certificate, key = "/run/tls/certificate.pem", "/run/tls/key.pem"

type options struct {
	port, threads     int
	tlsPort           int
	backendPort, pool int
	cpuProfile        string
}

func main() {
	flags := flag.NewFlagSet("server", flag.ContinueOnError)
	flags.Usage = func() { fmt.Fprintln(os.Stderr, usage) }
	var o options
	flags.IntVar(&o.port, "port", 0, "TCP port on LISTEN_ADDRESS, or 127.0.0.1")
	flags.IntVar(&o.threads, "threads", 0, "threads that run Go code")
	flags.IntVar(&o.tlsPort, "tls-port", 0, "TCP port there for TLS; 0: none")
	flags.IntVar(&o.backendPort, "backend-port", 0, "PostgreSQL's port on BACKEND_ADDRESS, or 127.0.0.1; 0: there is none")
	flags.IntVar(&o.pool, "pool", 10, "most connections to PostgreSQL")
	flags.StringVar(&o.cpuProfile, "cpuprofile", "", "file for a CPU profile of the whole run")
	if flags.Parse(os.Args[1:]) != nil {
		os.Exit(2)
	}
	if flags.NArg() > 0 || o.port < 1 || o.port > 65535 || o.threads < 1 ||
		o.tlsPort < 0 || o.tlsPort > 65535 || o.backendPort < 0 || o.backendPort > 65535 || o.pool < 1 || o.pool > 10_000 {
		flags.Usage()
		os.Exit(2)
	}
	if err := cpuprofile.While(o.cpuProfile, func() error { return run(o) }); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

func listenAddress() string {
	return cmp.Or(os.Getenv("LISTEN_ADDRESS"), "127.0.0.1")
}

func run(o options) error {
	if err := batch.StartSonic(); err != nil {
		return err
	}
	runtime.GOMAXPROCS(o.threads)
	posts, err := readPosts("/contract/posts.json")
	if err != nil {
		return err
	}
	database, err := openDatabase(o.backendPort, o.pool)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp4", net.JoinHostPort(listenAddress(), strconv.Itoa(o.port)))
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:           newHandler(posts, database),
		ReadHeaderTimeout: time.Minute,
		TLSConfig:         &tls.Config{MinVersion: tls.VersionTLS13},
		ErrorLog:          log.New(notOfHandshakes{os.Stderr}, "", 0),
	}
	stop, release := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer release()
	failed := make(chan error, 2)
	go func() { failed <- server.Serve(listener) }()
	if o.tlsPort != 0 {
		encrypted, err := net.Listen("tcp4", net.JoinHostPort(listenAddress(), strconv.Itoa(o.tlsPort)))
		if err != nil {
			return err
		}
		go func() { failed <- server.ServeTLS(encrypted, certificate, key) }()
	}
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

// notOfHandshakes writes what goes wrong, but for handshakes that a client broke off.
type notOfHandshakes struct{ io.Writer }

func (w notOfHandshakes) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("TLS handshake error")) {
		return len(line), nil
	}
	return w.Writer.Write(line)
}
