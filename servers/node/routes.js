/** What the server answers: one function a path, no framework. */
import { distinct, integer } from './random.js';

const TEXT = 'text/plain; charset=utf-8';
const JSON_TYPE = 'application/json';
const HTML = 'text/html; charset=utf-8';

const MESSAGE = 'Hello, world!';
const NUMBERS = Array.from({ length: 10 }, (_, index) => `Test Number ${index + 1}`);

const RECORDS_COUNT = 10_000;
const DEFAULT_COUNT = '20';
const MOST_AT_ONCE = 500;
const COUNT = /^[1-9][0-9]{0,2}$/;

/**
 * The handler of all requests.
 *
 * @param {ReturnType<import('./database.js').openDatabase>} database
 * @param {() => string} page renders the blog
 */
export function handler(database, page) {
  const text = (response) => send(response, 200, TEXT, `${MESSAGE}\n`);
  const paths = new Map([
    ['/', text],
    ['/text', text],
    ['/json', (response) => sendJson(response, { message: MESSAGE, ts: new Date().toISOString() })],
    ['/json10', (response) => sendJson(response, numbers())],
    ['/blog', (response) => send(response, 200, HTML, page())],
    ['/sql1', (response) => sendFrom(response, database.now().then((ts) => ({ message: MESSAGE, ts })))],
    ['/sql2', (response, query) => sendRecords(response, query, database)],
  ]);
  return (request, response) => {
    const { url, method } = request;
    const mark = url.indexOf('?');
    const answer = paths.get(mark < 0 ? url : url.slice(0, mark));
    if (answer === undefined) {
      refuse(response, 404, 'unknown path');
    } else if (method !== 'GET') {
      response.setHeader('Allow', 'GET');
      refuse(response, 405, 'only GET is answered here');
    } else {
      answer(response, mark < 0 ? '' : url.slice(mark + 1));
    }
  };
}

/** How many records a query asks for, from 1 to 500; undefined when it asks for something else. */
export function recordsCount(query) {
  const count = new URLSearchParams(query).get('count') ?? DEFAULT_COUNT;
  return COUNT.test(count) && Number(count) <= MOST_AT_ONCE ? Number(count) : undefined;
}

function sendRecords(response, query, database) {
  const count = recordsCount(query);
  if (count === undefined) {
    refuse(response, 400, `count must be a whole number from 1 to ${MOST_AT_ONCE}`);
    return;
  }
  const ids = distinct(count, RECORDS_COUNT).map((index) => index + 1);
  sendFrom(response, database.records(ids));
}

function numbers() {
  const answer = {};
  for (const name of NUMBERS) {
    answer[name] = integer(1000);
  }
  return answer;
}

function sendFrom(response, answer) {
  answer.then(
    (value) => sendJson(response, value),
    (error) => refuse(response, 503, `the database does not answer: ${error.message}`),
  );
}

function sendJson(response, value) {
  send(response, 200, JSON_TYPE, JSON.stringify(value));
}

function refuse(response, status, error) {
  send(response, status, JSON_TYPE, JSON.stringify({ error }));
}

/** Header and body go out in one write; node adds Date and Connection. */
function send(response, status, type, body) {
  response.writeHead(status, ['Content-Type', type, 'Content-Length', Buffer.byteLength(body)]);
  response.end(body);
}
