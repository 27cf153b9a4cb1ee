/**
 * The blog page, by EJS: the template engine that escapes and that Express's res.render takes as it comes (Handlebars needs an
 * adapter), so that both of the Node servers can render the same page with the same engine, each in its usual way.
 */
import { readFileSync } from 'node:fs';
import ejs from 'ejs';
import { distinct } from './random.js';

const POSTS_A_PAGE = 6;
const VIEW = new URL('views/blog.ejs', import.meta.url);

/**
 * A function that renders a page of six of these posts, drawn anew each time. The template is compiled here, once;
 * `strict` with named locals leaves out the `with` statement, which V8 does not optimise.
 *
 * @param {{title: string, image: string, paragraphs: string[]}[]} posts
 */
export function blog(posts) {
  if (posts.length < POSTS_A_PAGE) {
    throw new Error(`a page has ${POSTS_A_PAGE} posts, but there are only ${posts.length}`);
  }
  const render = ejs.compile(readFileSync(VIEW, 'utf8'), { strict: true, destructuredLocals: ['posts'] });
  return () => render({ posts: distinct(POSTS_A_PAGE, posts.length).map((index) => posts[index]) });
}
