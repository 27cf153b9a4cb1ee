import assert from 'node:assert/strict';
import test from 'node:test';
import { blog } from './blog.js';

const PARAGRAPHS = ['one', 'two', 'three', 'four'];

function posts(count) {
  return Array.from({ length: count }, (_, index) => ({
    title: `Post <${index}>`,
    image: `/images/${index}.jpg`,
    paragraphs: PARAGRAPHS,
  }));
}

test('a page has six different posts, each with its image and four paragraphs', () => {
  const page = blog(posts(50))();
  const titles = [...page.matchAll(/<h2>(.*?)<\/h2>/g)].map((match) => match[1]);
  assert.equal(new Set(titles).size, 6);
  assert.equal(titles.length, 6);
  assert.equal(page.match(/<article>/g).length, 6);
  assert.equal(page.match(/<p>(one|two|three|four)<\/p>/g).length, 24);
  for (const title of titles) {
    const index = title.match(/\d+/)[0];
    assert.ok(page.includes(`<img src="/images/${index}.jpg" alt="Post &lt;${index}&gt;">`));
  }
});

test('pages are drawn anew', () => {
  const render = blog(posts(50));
  assert.ok(new Set(Array.from({ length: 20 }, render)).size > 1);
});

test('what means something in HTML is escaped wherever it stands', () => {
  const wicked = `<script>"&'</script>`;
  const post = { title: wicked, image: wicked, paragraphs: [wicked, wicked, wicked, wicked] };
  const page = blog(Array(6).fill(post))();
  assert.ok(!page.includes('<script>'));
  // Six posts, each with its title twice, its image and four paragraphs.
  assert.equal(page.split('&lt;script&gt;&#34;&amp;&#39;&lt;/script&gt;').length - 1, 6 * 7);
});

test('too few posts are refused at the start', () => {
  assert.throws(() => blog(posts(5)), /only 5/);
});
