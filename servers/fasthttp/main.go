// Command server serves the workloads of the contract with fasthttp.
package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"shared/cpuprofile"
)

const usage = "usage: server --port PORT --threads THREADS [--tls-port PORT] [--cpuprofile FILE]"

const certificate, key = "/run/tls/certificate.pem", "/run/tls/key.pem"

func main() {
	flags := flag.NewFlagSet("server", flag.ContinueOnError)
	flags.Usage = func() { fmt.Fprintln(os.Stderr, usage) }
	port := flags.Int("port", 0, "TCP port on LISTEN_ADDRESS, or 127.0.0.1")
	tlsPort := flags.Int("tls-port", 0, "TCP port there for TLS; 0: none")
	threads := flags.Int("threads", 0, "threads that run Go code")
	cpuProfile := flags.String("cpuprofile", "", "file for a CPU profile of the whole run")
	if flags.Parse(os.Args[1:]) != nil {
		os.Exit(2)
	}
	if flags.NArg() > 0 || *port < 1 || *port > 65535 || *threads < 1 ||
		*tlsPort < 0 || *tlsPort > 65535 {
		flags.Usage()
		os.Exit(2)
	}
	if err := cpuprofile.While(*cpuProfile, func() error { return run(*port, *tlsPort, *threads) }); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

func listenAddress() string {
	return cmp.Or(os.Getenv("LISTEN_ADDRESS"), "127.0.0.1")
}

func run(port, tlsPort, threads int) error {
	runtime.GOMAXPROCS(threads)
	posts, err := readPosts("/contract/posts.json")
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp4", net.JoinHostPort(listenAddress(), strconv.Itoa(port)))
	if err != nil {
		return err
	}
	server := newServer(posts)
	stop, release := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer release()
	failed := make(chan error, 2)
	go func() { failed <- server.Serve(listener) }()
	if tlsPort != 0 {
		encrypted, err := net.Listen("tcp4", net.JoinHostPort(listenAddress(), strconv.Itoa(tlsPort)))
		if err != nil {
			return err
		}
		server.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS13}
		go func() { failed <- server.ServeTLS(encrypted, certificate, key) }()
	}
	select {
	case err = <-failed:
		return err
	case <-stop.Done():
	}
	// Requests under way get half a second, then the process takes their connections with it.
	grace, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	_ = server.ShutdownWithContext(grace)
	return nil
}
