#pragma once

#include <drogon/HttpResponse.h>

#include <filesystem>
#include <string>
#include <vector>

struct BlogPost {
  std::string title;
  std::string image;
  std::vector<std::string> paragraphs;
};

// The posts of a page, under this name in the data of BlogView.
using Posts = std::vector<const BlogPost*>;

// Reads the posts, once, before the application runs; throws std::runtime_error when there are too few of them.
void read_posts(const std::filesystem::path& path);

// A page of six of them, drawn at random.
drogon::HttpResponsePtr reply_blog();
