/** A process that serves: an HTTP server on LISTEN_ADDRESS, or 127.0.0.1, with and without TLS, that ends in order. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { application } from './app.js';

const POSTS = '/contract/posts.json';
const CERTIFICATE = '/run/tls/certificate.pem';
const KEY = '/run/tls/key.pem';

// As many connections may wait to be accepted as the kernel allows (net.core.somaxconn).
const BACKLOG = 65_535;
// What a request may still take after the server was told to end.
const GRACE_MS = 500;

/** Serve until a signal ends the process. */
export function serve({ port, tlsPort }) {
  const servers = httpServers(application(JSON.parse(readFileSync(POSTS, 'utf8')).posts), port, tlsPort);
  endOnSignal([...servers.keys()]);
  for (const [server, at] of servers) {
    listen(server, at);
  }
}

/** The servers for this handler, not yet listening, each with its port: one, and with TLS a second one. */
function httpServers(handler, port, tlsPort) {
  const options = {
    // A connection may be silent between its requests for as long as it likes: node's 5 s would cut those of a slow
    // load, or of many connections. Half a request is given up after the default minute.
    keepAliveTimeout: 0,
    headersTimeout: 60_000,
  };
  const servers = new Map([[createServer(options, handler), port]]);
  if (tlsPort !== 0) {
    const [cert, key] = [readFileSync(CERTIFICATE), readFileSync(KEY)];
    servers.set(createTlsServer({ ...options, cert, key, minVersion: 'TLSv1.3' }, handler), tlsPort);
  }
  return servers;
}

/** Listen; a port that is taken ends the process with status 1. */
function listen(server, port) {
  server.on('error', (error) => {
    console.error(`server: ${error.message}`);
    process.exit(1);
  });
  server.listen({ host: process.env.LISTEN_ADDRESS ?? '127.0.0.1', port, backlog: BACKLOG });
}

/**
 * End with status 0 on SIGTERM or SIGINT: idle connections are closed at once, those with a request under way when its
 * response is sent, and all that are left half a second later.
 */
function endOnSignal(servers) {
  const end = () => {
    const closed = servers.map((server) => new Promise((resolve) => server.close(resolve)));
    Promise.all(closed).then(() => process.exit(0));
    setTimeout(() => {
      servers.forEach((server) => server.closeAllConnections());
      process.exit(0);
    }, GRACE_MS);
  };
  process.once('SIGTERM', end);
  process.once('SIGINT', end);
}
