#include "draw.h"

#include <bitset>
#include <random>

int draw(int bound) {
  thread_local std::mt19937 generator{std::random_device{}()};
  return std::uniform_int_distribution(0, bound - 1)(generator);
}

// Draws again what was drawn already: at most every twentieth one, where 500 of 10,000 are requested.
std::vector<int> draw_distinct(size_t count, int bound) {
  std::bitset<kMaxBound> seen;
  std::vector<int> drawn;
  drawn.reserve(count);
  while (drawn.size() < count) {
    const int number = draw(bound);
    if (seen.test(number)) continue;
    seen.set(number);
    drawn.push_back(number);
  }
  return drawn;
}
