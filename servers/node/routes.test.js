import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import test, { after, before } from 'node:test';
import { openDatabase } from './database.js';
import { acceptsGzip, handler, recordsCount } from './routes.js';

const PAGE = '<p>é</p>';
let server;
let base;

before(async () => {
  server = createServer(handler(openDatabase(0, 1), () => PAGE));
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  base = `http://127.0.0.1:${server.address().port}`;
});

after(() => {
  server.close();
  server.closeAllConnections();
});

async function get(path, method = 'GET') {
  const response = await fetch(base + path, { method });
  const body = await response.text();
  const length = Buffer.byteLength(body);
  assert.equal(response.headers.get('content-length'), `${length}`);
  assert.ok(response.headers.has('date'));
  return { status: response.status, type: response.headers.get('content-type'), body, headers: response.headers };
}

test('text is the same under both of its paths', async () => {
  for (const path of ['/', '/text', '/text?unasked=1']) {
    const { status, type, body } = await get(path);
    assert.deepEqual([status, type, body], [200, 'text/plain; charset=utf-8', 'Hello, world!\n']);
  }
});

test('json tells the time of each request', async () => {
  const [first, second] = [JSON.parse((await get('/json')).body), await laterJson()];
  assert.equal(first.message, 'Hello, world!');
  assert.match(first.ts, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.ok(Date.parse(second.ts) > Date.parse(first.ts));
});

async function laterJson() {
  await new Promise((passed) => setTimeout(passed, 5));
  return JSON.parse((await get('/json')).body);
}

test('json10 has ten numbers, new on each request', async () => {
  const bodies = [(await get('/json10')).body, (await get('/json10')).body];
  assert.notEqual(bodies[0], bodies[1]);
  const numbers = JSON.parse(bodies[0]);
  assert.deepEqual(Object.keys(numbers), Array.from({ length: 10 }, (_, index) => `Test Number ${index + 1}`));
  assert.ok(Object.values(numbers).every((number) => Number.isInteger(number) && number >= 0 && number < 1000));
});

test('the length of a page is counted in bytes', async () => {
  const { type, body, headers } = await get('/blog');
  assert.deepEqual([type, body, headers.get('content-length')], ['text/html; charset=utf-8', PAGE, '9']);
});

test('without a database the sql workloads are unavailable, and say so', async () => {
  for (const path of ['/sql1', '/sql2', '/sql2?count=3']) {
    const { status, type, body } = await get(path);
    assert.deepEqual([status, type], [503, 'application/json']);
    assert.match(JSON.parse(body).error, /database/);
  }
});

test('wrong requests are refused', async () => {
  for (const [path, method, status] of [
    ['/nothing', 'GET', 404],
    ['/text/', 'GET', 404],
    ['/TEXT', 'GET', 404],
    ['/nothing', 'POST', 404],
    ['/json', 'POST', 405],
    ['/sql2', 'DELETE', 405],
    ['/sql2?count=0', 'GET', 400],
  ]) {
    const response = await get(path, method);
    assert.equal(response.status, status, `${method} ${path}`);
    assert.equal(typeof JSON.parse(response.body).error, 'string');
    assert.equal(response.headers.get('allow'), status === 405 ? 'GET' : null);
  }
});

test('a count is a whole number from 1 to 500; without one it is 20', () => {
  for (const [query, count] of [['', 20], ['other=3', 20], ['count=1', 1], ['a=0&count=500&b', 500], ['count=%32%30', 20]]) {
    assert.equal(recordsCount(query), count, query);
  }
  for (const count of ['0', '501', 'abc', '', '-1', '2.5', '+5', '05', '1e2', '%205', '5%20', '5%0A', '٣', '9'.repeat(20)]) {
    assert.equal(recordsCount(`count=${count}`), undefined, count);
  }
});

test('a thousand numbers are compressed when gzip is accepted, and new on each request', async () => {
  const seen = new Set();
  for (const [accepted, coding] of [['gzip', 'gzip'], ['identity', null]]) {
    const response = await fetch(`${base}/json1000`, { headers: { 'accept-encoding': accepted } });
    const objects = await response.json();
    assert.equal(response.headers.get('content-encoding'), coding);
    assert.equal(response.headers.get('vary'), 'Accept-Encoding');
    assert.deepEqual([objects.length, Object.keys(objects[99]).length], [100, 10]);
    objects.flatMap(Object.values).forEach((number) => seen.add(number));
  }
  assert.ok(seen.size > 700, `${seen.size}`); // 865 are to be expected
});

test('gzip is accepted with a weight above 0', () => {
  for (const accepted of ['gzip', 'br, gzip', 'gzip;q=0.5, br', 'br,gzip; q=0.001']) {
    assert.ok(acceptsGzip(accepted), accepted);
  }
  for (const accepted of ['', 'br', 'identity', 'gzip;q=0', 'br, gzip; q=0.000']) {
    assert.ok(!acceptsGzip(accepted), accepted);
  }
});
