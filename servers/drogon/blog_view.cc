// The blog's view. Drogon's templates (CSP) are turned into C++ by drogon_ctl, which Debian does not package; so this
// is the class that it would make of a blog.csp: derived from DrTemplate, found by its name, appending to an
// OStringStream. CSP escapes nothing by itself, neither {% %} nor [[ ]] nor $$; here the stream does it.
#include <drogon/DrTemplate.h>
#include <drogon/HttpViewData.h>
#include <drogon/utils/OStringStream.h>

#include "blog.h"

namespace {

// Escapes every text; only what stands literally in this file is markup.
class Html {
 public:
  template <int N>
  Html& operator<<(const char (&markup)[N]) {
    stream_ << markup;
    return *this;
  }

  Html& operator<<(const std::string& text) {
    stream_ << drogon::HttpViewData::htmlTranslate(text);
    return *this;
  }

  std::string take() { return std::move(stream_.str()); }

 private:
  drogon::OStringStream stream_;
};

}  // namespace

class BlogView : public drogon::DrTemplate<BlogView> {
 public:
  std::string genText(const drogon::DrTemplateData& data) override;
};

// Not inside of the class: a function of its own is what makes the compiler emit the class, and so register its name.
std::string BlogView::genText(const drogon::DrTemplateData& data) {
  Html html;
  html << "<!DOCTYPE html>\n<html lang=\"en\">\n"
          "<head><meta charset=\"utf-8\"><title>A blog of six posts</title></head>\n"
          "<body>\n<header><h1>A blog of six posts</h1></header>\n<main>\n";
  for (const BlogPost* post : data.get<Posts>("posts")) {
    html << "<article>\n<h2>" << post->title << "</h2>\n"
         << "<img src=\"" << post->image << "\" alt=\"" << post->title << "\">\n";
    for (const std::string& text : post->paragraphs) html << "<p>" << text << "</p>\n";
    html << "</article>\n";
  }
  html << "</main>\n<footer><p>Six of fifty posts, drawn anew for every reader.</p></footer>\n</body>\n</html>\n";
  return html.take();
}
