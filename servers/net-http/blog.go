package main

import (
	"bytes"
	_ "embed"
	"encoding/json/v2"
	"fmt"
	"html/template"
	"net/http"
	"os"
	"slices"
	"sync"
)

const postsOnPage = 6

//go:embed blog.html
var blogSource string

var blogTemplate = template.Must(template.New("blog").Parse(blogSource))

type post struct {
	Title      string    `json:"title"`
	Image      string    `json:"image"`
	Paragraphs [4]string `json:"paragraphs"`
}

func readPosts(path string) ([]*post, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file struct {
		Posts []*post `json:"posts"`
	}
	if err = json.Unmarshal(content, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(file.Posts) < postsOnPage {
		return nil, fmt.Errorf("%s: at least %d posts are needed", path, postsOnPage)
	}
	return file.Posts, nil
}

// blogPage is what one page needs, kept for the next.
type blogPage struct {
	posts deck[*post]
	html  bytes.Buffer
}

func blog(posts []*post) http.HandlerFunc {
	pages := &sync.Pool{New: func() any { return &blogPage{posts: slices.Clone(posts)} }}
	return func(w http.ResponseWriter, _ *http.Request) {
		page := pages.Get().(*blogPage)
		defer pages.Put(page)
		page.html.Reset()
		if err := blogTemplate.Execute(&page.html, page.posts.deal(postsOnPage)); err != nil {
			fail(w, http.StatusInternalServerError, err)
			return
		}
		send(w, http.StatusOK, typeHTML, page.html.Bytes())
	}
}
