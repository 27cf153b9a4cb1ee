//! The page of six random posts.

use std::error::Error;
use std::path::Path;

use askama::Template;
use serde::Deserialize;

const POSTS_ON_PAGE: usize = 6;

/// All posts, read once.
#[derive(Deserialize)]
pub struct Posts {
    posts: Vec<Post>,
}

#[derive(Deserialize)]
struct Post {
    title: String,
    image: String,
    paragraphs: [String; 4],
}

#[derive(Template)]
#[template(path = "blog.html")]
struct Page<'a> {
    posts: [&'a Post; POSTS_ON_PAGE],
}

impl Posts {
    /// Read the posts of a file.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, Box<dyn Error>> {
        let posts: Self = serde_json::from_slice(&std::fs::read(path)?)?;
        if posts.posts.len() < POSTS_ON_PAGE {
            return Err(format!("at least {POSTS_ON_PAGE} posts are needed").into());
        }
        Ok(posts)
    }

    /// Return the page of six distinct posts.
    pub fn page(&self) -> String {
        let drawn = rand::seq::index::sample_array(&mut rand::rng(), self.posts.len());
        let drawn: [usize; POSTS_ON_PAGE] = drawn.expect("there are enough");
        let page = Page { posts: drawn.map(|place| &self.posts[place]) };
        page.render().expect("nothing in the page can fail")
    }
}
