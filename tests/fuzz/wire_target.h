// What the fuzz target and its replay have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft::test {

/// Reads `input` as a script of what a hostile or broken peer does to a device that has a listener, a connection
/// attempt and two communicators: handles, control messages and data of any shape, with the keys of these objects where
/// the script asks for them. Returns what went wrong without a crash: complaints of the fake fabric, or a device that
/// serves nobody afterwards. Empty if all is well.
std::string run_wire_input(std::span<const std::uint8_t> input);

/// Scripts to begin with: well-formed messages of every kind and their neighbours.
std::vector<std::vector<std::uint8_t>> wire_seeds();

}  // namespace weft::test
