/**
 * The server's processes. One alone serves by itself: a second one that only hands connections on would cost memory and
 * a hop for nothing. Several are workers of node:cluster, whose primary accepts and hands out the connections round robin.
 */
import cluster from 'node:cluster';
import { parseArgs } from 'node:util';

const USAGE = 'usage: main.js --port PORT --threads PROCESSES [--tls-port PORT] [--database-port PORT] [--pool CONNECTIONS]';

const settings = readSettings(process.argv.slice(2));
if (settings.threads > 1 && cluster.isPrimary) {
  supervise(settings.threads);
} else {
  // Not above: a primary needs none of what serves.
  const { serve } = await import('./serve.js');
  serve(settings);
}

function readSettings(words) {
  try {
    const { values } = parseArgs({
      args: words,
      options: {
        port: { type: 'string' },
        threads: { type: 'string' },
        'tls-port': { type: 'string', default: '0' },
        'database-port': { type: 'string', default: '0' },
        pool: { type: 'string', default: '10' },
      },
    });
    const threads = wholeNumber(values, 'threads', 1, 1024);
    return {
      port: wholeNumber(values, 'port', 1, 65_535),
      threads,
      tlsPort: wholeNumber(values, 'tls-port', 0, 65_535),
      databasePort: wholeNumber(values, 'database-port', 0, 65_535),
      // Each process has its share of the connections that the whole server may keep.
      connections: Math.floor(wholeNumber(values, 'pool', threads, 100_000) / threads),
    };
  } catch (error) {
    console.error(`${error.message}\n${USAGE}`);
    process.exit(2);
  }
}

function wholeNumber(values, name, least, most) {
  const text = values[name] ?? '';
  const number = Number(text);
  if (!/^[0-9]+$/.test(text) || number < least || number > most) {
    throw new Error(`--${name} must be a whole number from ${least} to ${most}`);
  }
  return number;
}

/** Start the workers, and end all when one ends: a server with a worker less is another server than the one measured. */
function supervise(count) {
  let ending = false;
  const end = (status) => {
    if (ending) {
      return;
    }
    ending = true;
    process.exitCode = status;
    for (const worker of Object.values(cluster.workers)) {
      worker.process.kill('SIGTERM');
    }
  };
  process.on('SIGTERM', () => end(0));
  process.on('SIGINT', () => end(0));
  cluster.on('exit', (worker, status, signal) => {
    // A signal to all processes may reach a worker first: it has then ended in order.
    const inOrder = status === 0 || signal === 'SIGTERM';
    if (!inOrder && !ending) {
      console.error(`server: worker ${worker.process.pid} ended (${signal ?? `exit status ${status}`})`);
    }
    end(inOrder ? 0 : 1);
  });
  for (let index = 0; index < count; index += 1) {
    cluster.fork();
  }
}
