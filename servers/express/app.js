/** The routes of the server, as an Express application. */
import express from 'express';
import { distinct, integer } from './random.js';

const MESSAGE = 'Hello, world!';
const NUMBERS = Array.from({ length: 10 }, (_, index) => `Test Number ${index + 1}`);
const POSTS_A_PAGE = 6;
const VIEWS = `${import.meta.dirname}/views`;

/**
 * The application. Pages are rendered by `res.render` with EJS as it comes: Express finds it by its name, has it compile the
 * template on the first request, and keeps that in the view cache.
 *
 * @param {{title: string, image: string, paragraphs: string[]}[]} posts
 */
export function application(posts) {
  if (posts.length < POSTS_A_PAGE) {
    throw new Error(`a page has ${POSTS_A_PAGE} posts, but there are only ${posts.length}`);
  }
  const app = express();
  // The other servers send neither, and compute no checksum of what they send.
  app.disable('x-powered-by');
  app.disable('etag');
  // A path is known exactly as the contract writes it.
  app.enable('case sensitive routing');
  app.enable('strict routing');
  app.set('views', VIEWS);
  app.set('view engine', 'ejs');
  app.enable('view cache');

  const routes = {
    '/': text,
    '/text': text,
    '/json': (request, response) => response.json({ message: MESSAGE, ts: new Date().toISOString() }),
    '/json10': (request, response) => response.json(numbers()),
    '/blog': (request, response) => response.render('blog', { posts: drawn(posts) }),
  };
  for (const [path, handler] of Object.entries(routes)) {
    app.route(path).get(handler).all(refuseMethod);
  }
  app.use((request, response) => response.status(404).json({ error: 'unknown path' }));
  app.use(refuseFailure);
  return app;
}

function text(request, response) {
  response.type('text/plain').send(`${MESSAGE}\n`);
}

function numbers() {
  const members = {};
  for (const name of NUMBERS) {
    members[name] = integer(1000);
  }
  return members;
}

function drawn(posts) {
  return distinct(POSTS_A_PAGE, posts.length).map((index) => posts[index]);
}

function refuseMethod(request, response) {
  response.set('Allow', 'GET').status(405).json({ error: 'only GET is allowed here' });
}

/** Express knows a handler of errors by its four parameters. */
function refuseFailure(error, request, response, next) {
  if (response.headersSent) {
    next(error);
    return;
  }
  response.status(error.status ?? 500).json({ error: error.message });
}
