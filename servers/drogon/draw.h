#pragma once

#include <cstddef>
#include <vector>

// The most numbers that are drawn from.
constexpr int kMaxBound = 10000;

// A random number from 0 to bound - 1, each as likely as any other.
int draw(int bound);

// `count` distinct ones of them; count <= bound <= kMaxBound.
std::vector<int> draw_distinct(size_t count, int bound);
