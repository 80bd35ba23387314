#pragma once

#include <string>
#include <vector>

#include "tests/emulation/cuda/nccl/device_image.h"
#include "tests/emulation/cuda/nccl/reduction.h"

namespace weft::emulation::nccl {

enum class Collective { kNone, kSendRecv, kAllGather, kBroadcast, kReduce, kReduceScatter, kAllReduce };
enum class Algorithm { kRing, kTree, kPat };

// A device function of NCCL's, as its name tells. collective is kNone when the emulator does not have it.
struct Function {
  Collective collective = Collective::kNone;
  Algorithm algorithm = Algorithm::kRing;
  bool ll = false;
  Operator op = Operator::kSum;
  Type type = Type::kI8;
  const char* name = "unknown";
};

// The functions of a libnccl by number. Several names may share a number (sums of signed and unsigned integers), they
// compute the same then.
class FunctionTable {
 public:
  explicit FunctionTable(const DeviceImage& image);
  // A function that is not there has no collective.
  const Function& operator[](unsigned id) const;

 private:
  std::vector<Function> functions_;
};

Function parse_function(const char* name);

}  // namespace weft::emulation::nccl
