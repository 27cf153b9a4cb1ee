/** The routes of the server: one function a path, no framework. */
import { gzipSync } from 'node:zlib';

import { distinct, integer } from './random.js';

const TEXT = 'text/plain; charset=utf-8';
const JSON_TYPE = 'application/json';
const HTML = 'text/html; charset=utf-8';

const MESSAGE = 'Hello, world!';
const NUMBERS = Array.from({ length: 10 }, (_, index) => `Test Number ${index + 1}`);

const OBJECTS_COUNT = 100;
const GZIP = { level: 6 };

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
    ['/json1000', (response, _, request) => sendPacked(response, request, JSON.stringify(objects()))],
    ['/blog', (response) => send(response, 200, HTML, page())],
    ['/sql1', (response) => sendFrom(response, database.now().then((ts) => ({ message: MESSAGE, ts })))],
    ['/sql2', (response, query) => sendRecords(response, query, database)],
  ]);
  return (request, response) => {
    const { url, method } = request;
    const mark = url.indexOf('?');
    const route = paths.get(mark < 0 ? url : url.slice(0, mark));
    if (route === undefined) {
      refuse(response, 404, 'unknown path');
    } else if (method !== 'GET') {
      response.setHeader('Allow', 'GET');
      refuse(response, 405, 'only GET is allowed here');
    } else {
      route(response, mark < 0 ? '' : url.slice(mark + 1), request);
    }
  };
}

/** The number of records that a query requests, from 1 to 500; undefined when it requests something else. */
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
  const members = {};
  for (const name of NUMBERS) {
    members[name] = integer(1000);
  }
  return members;
}

function objects() {
  return Array.from({ length: OBJECTS_COUNT }, numbers);
}

/** Whether gzip is among the codings of an Accept-Encoding, with a weight above 0 (RFC 9110, 12.5.3). */
export function acceptsGzip(accepted) {
  for (const coding of accepted.split(',')) {
    const [name, parameter = ''] = coding.split(';');
    if (name.trim() === 'gzip') {
      const weight = parameter.trim();
      return !weight.startsWith('q=') || Number(weight.slice(2)) > 0;
    }
  }
  return false;
}

/** JSON, compressed if the client accepts that: at once, since a process has one CPU, and another thread would share it. */
function sendPacked(response, request, text) {
  const packed = acceptsGzip(request.headers['accept-encoding'] ?? '');
  const body = packed ? gzipSync(text, GZIP) : text;
  const headers = ['Content-Type', JSON_TYPE, 'Content-Length', Buffer.byteLength(body), 'Vary', 'Accept-Encoding'];
  response.writeHead(200, packed ? [...headers, 'Content-Encoding', 'gzip'] : headers);
  response.end(body);
}

function sendFrom(response, result) {
  result.then(
    (value) => sendJson(response, value),
    (error) => refuse(response, 503, `the database does not respond: ${error.message}`),
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
