#include "bench/pattern.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

namespace weft::bench {
namespace {

/// The finaliser of MurmurHash3: every input bit reaches every output bit.
constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdULL;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return x ^ (x >> 33);
}

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ULL;

/// Calls visit(place, eight bytes of the stream, how many of them count) for each word of `bytes` bytes.
template <class Visit>
void for_each_word(std::size_t bytes, std::uint64_t seed, Visit visit) {
  for (std::size_t place = 0; place < bytes; place += 8) {
    const std::uint64_t word = mix(seed + (place / 8 + 1) * kGolden);
    visit(place, word, std::min<std::size_t>(8, bytes - place));
  }
}

/// What rank contributes at `index`: a whole number of at most `mask`.
std::uint32_t addend(std::uint64_t rank_seed, std::size_t index, std::uint32_t mask) {
  const auto x = static_cast<std::uint32_t>(index) * 0x9e3779b1U ^ static_cast<std::uint32_t>(rank_seed);
  return ((x ^ (x >> 15)) * 0x85ebca6bU >> 7) & mask;
}

std::uint64_t addend_seed(int rank, std::uint64_t iteration) {
  return stream_seed(static_cast<std::uint64_t>(rank), 0, iteration);
}

/// A float holds whole numbers up to 2^24 exactly.
std::uint32_t addend_mask(int ranks) {
  return std::bit_floor((std::uint32_t{1} << 24) / static_cast<std::uint32_t>(ranks)) - 1;
}

}  // namespace

std::uint64_t stream_seed(std::uint64_t source, std::uint64_t destination, std::uint64_t iteration) {
  return mix(mix(mix(source + kGolden) + destination) + iteration);
}

void fill_stream(std::span<std::byte> data, std::uint64_t seed) {
  for_each_word(data.size(), seed, [&](std::size_t place, std::uint64_t word, std::size_t count) {
    std::memcpy(&data[place], &word, count);
  });
}

void poison_stream(std::span<std::byte> data, std::uint64_t seed) {
  for_each_word(data.size(), seed, [&](std::size_t place, std::uint64_t word, std::size_t count) {
    const std::uint64_t other = ~word;
    std::memcpy(&data[place], &other, count);
  });
}

std::size_t count_wrong(std::span<const std::byte> data, std::uint64_t seed) {
  std::size_t wrong = 0;
  for_each_word(data.size(), seed, [&](std::size_t place, std::uint64_t word, std::size_t count) {
    if (std::memcmp(&data[place], &word, count) == 0) return;
    std::byte expected[8];
    std::memcpy(expected, &word, sizeof expected);
    for (std::size_t i = 0; i < count; ++i) wrong += data[place + i] != expected[i] ? 1 : 0;
  });
  return wrong;
}

void fill_addends(std::span<float> data, int rank, int ranks, std::uint64_t iteration) {
  const std::uint64_t seed = addend_seed(rank, iteration);
  const std::uint32_t mask = addend_mask(ranks);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(addend(seed, i, mask));
}

void poison_sums(std::span<float> data) { std::ranges::fill(data, -1.0F); }

std::size_t count_wrong_sums(std::span<const float> data, int ranks, std::uint64_t iteration) {
  std::vector<std::uint64_t> seeds;
  for (int rank = 0; rank < ranks; ++rank) seeds.push_back(addend_seed(rank, iteration));
  const std::uint32_t mask = addend_mask(ranks);
  // In blocks, so that the inner loop runs over elements, which the compiler can do several at a time.
  constexpr std::size_t kBlock = 1024;
  std::uint32_t sums[kBlock];
  std::size_t wrong = 0;
  for (std::size_t begin = 0; begin < data.size(); begin += kBlock) {
    const std::size_t count = std::min(kBlock, data.size() - begin);
    std::fill_n(sums, count, 0U);
    for (const std::uint64_t seed : seeds) {
      for (std::size_t i = 0; i < count; ++i) sums[i] += addend(seed, begin + i, mask);
    }
    for (std::size_t i = 0; i < count; ++i) wrong += data[begin + i] != static_cast<float>(sums[i]) ? 1 : 0;
  }
  return wrong;
}

}  // namespace weft::bench
