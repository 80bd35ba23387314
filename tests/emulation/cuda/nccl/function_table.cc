#include "tests/emulation/cuda/nccl/function_table.h"

#include <map>
#include <sstream>

namespace weft::emulation::nccl {
namespace {

template <class Value>
bool look_up(const std::map<std::string, Value>& names, const std::string& name, Value* value) {
  const auto found = names.find(name);
  if (found == names.end()) return false;
  *value = found->second;
  return true;
}

const std::map<std::string, Collective> kCollectives = {
    {"SendRecv", Collective::kSendRecv},   {"AllGather", Collective::kAllGather},
    {"Broadcast", Collective::kBroadcast}, {"Reduce", Collective::kReduce},
    {"AllReduce", Collective::kAllReduce}, {"ReduceScatter", Collective::kReduceScatter},
};
const std::map<std::string, Operator> kOperators = {
    {"Sum", Operator::kSum},
    {"Prod", Operator::kProduct},
    {"MinMax", Operator::kMinMax},
    {"PreMulSum", Operator::kPreMultipliedSum},
    {"SumPostDiv", Operator::kSumThenDivide},
};
const std::map<std::string, Type> kTypeNames = {
    {"i8", Type::kI8},   {"u8", Type::kU8},   {"i32", Type::kI32}, {"u32", Type::kU32}, {"i64", Type::kI64},
    {"u64", Type::kU64}, {"f16", Type::kF16}, {"f32", Type::kF32}, {"f64", Type::kF64}, {"bf16", Type::kBf16},
};
const std::map<std::string, Algorithm> kAlgorithms = {
    {"RING", Algorithm::kRing}, {"TREE", Algorithm::kTree}, {"PAT", Algorithm::kPat}};
const std::map<std::string, bool> kProtocolIsLl = {{"LL", true}, {"SIMPLE", false}};

bool emulated(const Function& function) {
  switch (function.algorithm) {
    case Algorithm::kRing: return true;
    case Algorithm::kTree: return function.collective == Collective::kAllReduce;
    case Algorithm::kPat:
      return !function.ll &&
             (function.collective == Collective::kAllGather || function.collective == Collective::kReduceScatter);
  }
  return false;
}

}  // namespace

Function parse_function(const char* name) {
  Function none;
  none.name = name;
  Function parsed = none;
  std::istringstream words{std::string(name)};
  std::string word;
  words >> word;
  if (!look_up(kCollectives, word, &parsed.collective)) return none;
  if (parsed.collective == Collective::kSendRecv) return parsed;
  const bool reduces = parsed.collective == Collective::kReduce || parsed.collective == Collective::kAllReduce ||
                       parsed.collective == Collective::kReduceScatter;
  if (reduces) {
    std::string type;
    words >> word >> type;
    if (!look_up(kOperators, word, &parsed.op) || !look_up(kTypeNames, type, &parsed.type)) return none;
  }
  std::string protocol;
  words >> word >> protocol;
  if (!look_up(kAlgorithms, word, &parsed.algorithm) || !look_up(kProtocolIsLl, protocol, &parsed.ll)) return none;
  return emulated(parsed) ? parsed : none;
}

FunctionTable::FunctionTable(const DeviceImage& image) {
  for (size_t i = 0; i < image.function_count; ++i) {
    const DeviceFunction& function = image.functions[i];
    const auto id = static_cast<size_t>(function.id);
    if (id >= functions_.size()) functions_.resize(id + 1);
    functions_[id] = parse_function(function.name);
  }
}

const Function& FunctionTable::operator[](unsigned id) const {
  static const Function unknown;
  return id < functions_.size() ? functions_[id] : unknown;
}

}  // namespace weft::emulation::nccl
