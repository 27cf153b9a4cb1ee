"""The page of the workload `blog`, as a plain template makes it."""

from __future__ import annotations

import html
from collections.abc import Iterable

from runners.contract.data import Post

HEAD = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>A blog of six posts</title></head>
<body>
<header><h1>A blog of six posts</h1></header>
<main>
"""
FOOT = """</main>
<footer><p>Six of fifty posts, drawn anew for every reader.</p></footer>
</body>
</html>
"""


def article(post: Post) -> str:
    """One post."""
    title = html.escape(post.title)
    paragraphs = "".join(f"<p>{html.escape(paragraph)}</p>\n" for paragraph in post.paragraphs)
    return f'<article>\n<h2>{title}</h2>\n<img src="{post.image}" alt="{title}">\n{paragraphs}</article>\n'


def page(chosen: Iterable[Post]) -> str:
    """The whole page."""
    return HEAD + "".join(map(article, chosen)) + FOOT
