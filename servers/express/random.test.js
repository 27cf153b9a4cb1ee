import assert from 'node:assert/strict';
import test from 'node:test';
import { distinct, integer } from './random.js';

test('integers are drawn from all that is allowed, and from nothing else', () => {
  const drawn = new Set(Array.from({ length: 2000 }, () => integer(10)));
  assert.deepEqual([...drawn].sort(), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

test('distinct numbers are distinct, as many as requested, and allowed', () => {
  for (const count of [1, 20, 500]) {
    const drawn = distinct(count, 10_000);
    assert.equal(new Set(drawn).size, count);
    assert.equal(drawn.length, count);
    assert.ok(drawn.every((number) => Number.isInteger(number) && number >= 0 && number < 10_000));
  }
});

test('all numbers there are can be drawn at once', () => {
  assert.deepEqual(distinct(6, 6).sort(), [0, 1, 2, 3, 4, 5]);
});

test('each number is drawn equally often', () => {
  const [below, count, draws] = [50, 6, 10_000];
  const seen = new Array(below).fill(0);
  for (let draw = 0; draw < draws; draw += 1) {
    for (const number of distinct(count, below)) {
      seen[number] += 1;
    }
  }
  // 1200 each, with a standard deviation of 32.5: an honest draw misses by 7 of them once in 10^10 tests.
  for (const times of seen) {
    assert.ok(Math.abs(times - (draws * count) / below) < 230, `${seen}`);
  }
});
