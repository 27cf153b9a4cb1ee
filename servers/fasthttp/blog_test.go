package main

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const awkward = `<b> & "quoted" & 'single' </p> {{.}}`

func somePosts(count int) (posts []*post) {
	for i := range count {
		p := &post{Title: fmt.Sprintf("%s %d", awkward, i), Image: fmt.Sprintf("/images/%02d.jpg", i)}
		for j := range p.Paragraphs {
			p.Paragraphs[j] = fmt.Sprintf("paragraph %d of %d %s", j, i, awkward)
		}
		posts = append(posts, p)
	}
	return posts
}

var article = regexp.MustCompile(`^\s*<h2>([^<]*)</h2>\s*<img src="/images/(\d\d)\.jpg" alt="([^"<]*)">((?:\s*<p>[^<]*</p>){4})\s*</article>\s*`)

func TestABlogHasSixDistinctPostsDrawnAnew(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		page := get(t, "/blog", "text/html; charset=utf-8")
		parts := strings.Split(strings.TrimSpace(page), "<article>")
		last := len(parts) - 1
		parts[last], _, _ = strings.Cut(parts[last], "</main>")
		if last != postsOnPage || !strings.HasPrefix(parts[0], "<!DOCTYPE html>") || !strings.HasSuffix(page, "</html>\n") {
			t.Fatal(page)
		}
		onPage := map[string]bool{}
		for _, part := range parts[1:] {
			found := article.FindStringSubmatch(part)
			if found == nil || found[0] != part || found[1] != found[3] || strings.Contains(part, " & ") {
				t.Fatal(part)
			}
			if !strings.HasPrefix(html.UnescapeString(found[1]), awkward) || !strings.Contains(html.UnescapeString(found[4]), awkward) {
				t.Error(part)
			}
			onPage[found[2]], seen[found[2]] = true, true
		}
		if len(onPage) != postsOnPage {
			t.Error(onPage)
		}
	}
	if len(seen) != 50 {
		t.Errorf("only %d of 50 posts drawn", len(seen))
	}
}

func TestPostsAreReadOrRefusedWithTheFilesName(t *testing.T) {
	one := `{"title":"t","image":"i","paragraphs":["1","2","3","4"]}`
	for content, want := range map[string]int{
		`{"posts":[` + strings.Repeat(one+",", 6) + one + `]}`:                                       7,
		`{"posts":[` + strings.Repeat(one+",", 4) + one + `]}`:                                       0,
		`{"posts":[` + strings.Repeat(one+",", 6) + `{"title":"t","image":"i","paragraphs":["1"]}]}`: 0,
		`{"posts":`: 0, ``: 0,
	} {
		path := filepath.Join(t.TempDir(), "posts.json")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		posts, err := readPosts(path)
		if len(posts) != want || want == 0 && (err == nil || !strings.Contains(err.Error(), path)) {
			t.Error(content, len(posts), err)
		}
	}
}
