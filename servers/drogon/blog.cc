#include "blog.h"

#include <fstream>
#include <stdexcept>

#include "draw.h"

using namespace drogon;

namespace {

constexpr size_t kPostsPerPage = 6;

std::vector<BlogPost> all_posts;  // written once, before there are threads

}  // namespace

void read_posts(const std::filesystem::path& path) {
  std::ifstream file(path);
  Json::Value root;
  std::string error = "cannot be opened";
  if (!file || !Json::parseFromStream(Json::CharReaderBuilder{}, file, &root, &error)) {
    throw std::runtime_error(path.string() + ": " + error);
  }
  for (const Json::Value& post : root["posts"]) {
    all_posts.push_back({post["title"].asString(), post["image"].asString(), {}});
    for (const Json::Value& text : post["paragraphs"]) all_posts.back().paragraphs.push_back(text.asString());
  }
  if (all_posts.size() < kPostsPerPage || all_posts.size() > kMaxBound) {
    throw std::runtime_error(path.string() + ": a page needs six posts");
  }
}

HttpResponsePtr reply_blog() {
  Posts posts;
  posts.reserve(kPostsPerPage);
  for (const int index : draw_distinct(kPostsPerPage, static_cast<int>(all_posts.size()))) {
    posts.push_back(&all_posts[index]);
  }
  HttpViewData data;
  data.insert("posts", std::move(posts));
  return HttpResponse::newHttpViewResponse("BlogView", data);
}
