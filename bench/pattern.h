// The data that is sent, and the check of what arrived. Every value depends on who sent it, in which iteration, and
// where it lies, so lost, doubled, swapped and stale pieces all show.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::bench {

/// Names one stream of bytes. Different names give unrelated streams.
std::uint64_t stream_seed(std::uint64_t source, std::uint64_t destination, std::uint64_t iteration);

/// Byte i of the stream, for every i.
void fill_stream(std::span<std::byte> data, std::uint64_t seed);
/// A value at every place that is certainly not the stream's.
void poison_stream(std::span<std::byte> data, std::uint64_t seed);
/// How many bytes are not the stream's.
std::size_t count_wrong(std::span<const std::byte> data, std::uint64_t seed);

/// Whole numbers small enough that the sum over `ranks` ranks is exact in a float, in any order.
void fill_addends(std::span<float> data, int rank, int ranks, std::uint64_t iteration);
/// A value at every place that no sum has.
void poison_sums(std::span<float> data);
/// How many elements are not the sum of all ranks' addends.
std::size_t count_wrong_sums(std::span<const float> data, int ranks, std::uint64_t iteration);

}  // namespace weft::bench
