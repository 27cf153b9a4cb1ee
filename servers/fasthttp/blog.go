package main

import (
	_ "embed"
	"encoding/json/v2"
	"fmt"
	"html/template"
	"os"
	"slices"
	"sync"

	"github.com/valyala/fasthttp"
)

const postsOnPage = 6

//go:embed blog.html
var blogSource string

// html/template, as the other Go servers have it: quicktemplate, by fasthttp's author, compiles a page to Go code that
// escapes all texts alike, so it would be another template engine that is compared, not another server.
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

// blog renders into fasthttp's own buffer of the response, which it keeps for the next one.
func blog(posts []*post) fasthttp.RequestHandler {
	decks := &sync.Pool{New: func() any {
		all := deck[*post](slices.Clone(posts))
		return &all
	}}
	return func(ctx *fasthttp.RequestCtx) {
		all := decks.Get().(*deck[*post])
		defer decks.Put(all)
		ctx.Response.Header.SetContentType(typeHTML)
		if err := blogTemplate.Execute(ctx, all.deal(postsOnPage)); err != nil {
			fail(ctx, fasthttp.StatusInternalServerError, err)
		}
	}
}
