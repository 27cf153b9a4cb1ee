import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import test, { after, before } from 'node:test';
import { application } from './app.js';

const WICKED = `<script>"&'</script>`;
const ESCAPED = '&lt;script&gt;&#34;&amp;&#39;&lt;/script&gt;';
let server;
let base;

function posts(count) {
  return Array.from({ length: count }, (_, index) => ({
    title: `${WICKED}${index}`,
    image: `/images/${index}.jpg`,
    paragraphs: [WICKED, WICKED, WICKED, 'é'],
  }));
}

before(async () => {
  server = createServer(application(posts(50)));
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  base = `http://127.0.0.1:${server.address().port}`;
});

after(() => {
  server.close();
  server.closeAllConnections();
});

async function get(path, method = 'GET') {
  const { status, headers, ...response } = await fetched(path, method);
  assert.equal(headers.get('content-length'), `${Buffer.byteLength(response.body)}`);
  assert.ok(headers.has('date'));
  assert.ok(!headers.has('etag') && !headers.has('x-powered-by'));
  return { status, type: headers.get('content-type'), body: response.body, headers };
}

async function fetched(path, method) {
  const response = await fetch(base + path, { method });
  return { status: response.status, headers: response.headers, body: await response.text() };
}

test('text is the same under both of its paths', async () => {
  for (const path of ['/', '/text', '/text?unasked=1']) {
    const { status, type, body } = await get(path);
    assert.deepEqual([status, type, body], [200, 'text/plain; charset=utf-8', 'Hello, world!\n']);
  }
});

test('json tells the time of each request', async () => {
  const first = JSON.parse((await get('/json')).body);
  await new Promise((passed) => setTimeout(passed, 5));
  const second = JSON.parse((await get('/json')).body);
  assert.equal(first.message, 'Hello, world!');
  assert.match(first.ts, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.ok(Date.parse(second.ts) > Date.parse(first.ts));
});

test('json10 has ten numbers, new on each request', async () => {
  const bodies = [(await get('/json10')).body, (await get('/json10')).body];
  assert.notEqual(bodies[0], bodies[1]);
  const numbers = JSON.parse(bodies[0]);
  assert.deepEqual(Object.keys(numbers), Array.from({ length: 10 }, (_, index) => `Test Number ${index + 1}`));
  assert.ok(Object.values(numbers).every((number) => Number.isInteger(number) && number >= 0 && number < 1000));
});

test('a page has six different posts, drawn anew, and everything in it is escaped', async () => {
  const [{ type, body }, other] = [await get('/blog'), await get('/blog')];
  assert.equal(type, 'text/html; charset=utf-8');
  assert.notEqual(body, other.body);
  const titles = [...body.matchAll(/<h2>(.*?)<\/h2>/g)].map((match) => match[1]);
  assert.equal(titles.length, 6);
  assert.equal(new Set(titles).size, 6);
  assert.ok(titles.every((title) => title.startsWith(ESCAPED)));
  assert.ok(!body.includes('<script>'));
  // Six posts, each with its title twice and three paragraphs; the fourth is an é.
  assert.equal(body.split(ESCAPED).length - 1, 6 * 5);
  assert.equal(body.split('<p>é</p>').length - 1, 6);
});

test('wrong requests are refused', async () => {
  for (const [path, method, status] of [
    ['/nothing', 'GET', 404],
    ['/text/', 'GET', 404],
    ['/TEXT', 'GET', 404],
    ['/%zz', 'GET', 404],
    ['/nothing', 'POST', 404],
    ['/json', 'POST', 405],
    ['/blog', 'DELETE', 405],
  ]) {
    const response = await get(path, method);
    assert.equal(response.status, status, `${method} ${path}`);
    assert.equal(typeof JSON.parse(response.body).error, 'string');
    assert.equal(response.headers.get('allow'), status === 405 ? 'GET' : null);
  }
});

test('too few posts are refused at the start', () => {
  assert.throws(() => application(posts(5)), /only 5/);
});
