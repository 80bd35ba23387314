#include "transports/rdma/efa_status.h"

#include <array>

#include "transports/connection/comm.h"

namespace weft::rdma {
namespace {

struct Row {
  int status;
  Judgement judgement;
};

constexpr std::array kTable = {
    Row{1,
        {Blame::kPath, "the NIC flushed it: its queue pair is gone or the device was reset; look into the kernel log"}},
    Row{2, {Blame::kPath, "an internal error of the NIC's queue pair; look into the kernel log of this host"}},
    Row{3, {Blame::kMessage, "the NIC does not support the operation: WEFT_PROTOCOL=sendrecv needs no RDMA writes"}},
    Row{4, {Blame::kPath, "the NIC does not know the peer's address handle"}},
    Row{5, {Blame::kMessage, "the local buffer is not registered (any more): it was given back while it was in use"}},
    Row{6, {Blame::kMessage, "the NIC refuses the length"}},
    Row{7,
        {Blame::kMessage,
         "the peer's buffer is not registered (any more): the peer has closed or aborted; look at "
         "its log first"}},
    Row{8, {Blame::kPath, "the peer's NIC aborted it: its queue pair is in error; look at that host's log"}},
    Row{9, {Blame::kPath, "the peer's queue pair is gone: its process has ended or restarted; look at its log first"}},
    Row{10, {Blame::kRetry, "the peer's NIC was not ready to receive"}},
    Row{11, {Blame::kMessage, "the peer's NIC refuses the length"}},
    Row{12, {Blame::kPath, "the peer's NIC answered with an error"}},
    Row{13,
        {Blame::kPath,
         "the peer's NIC does not answer: its process or instance is gone, the NIC is down, or a "
         "security group does not let EFA traffic through in both directions (allow all traffic "
         "from and to the group itself)"}},
    Row{14, {Blame::kPath, "the peer's NIC does not know this one (yet)"}},
    Row{15,
        {Blame::kPath,
         "the peer's NIC cannot be reached: subnet, placement or security group; EFA traffic does "
         "not cross subnets of different availability zones"}},
    Row{18, {Blame::kMessage, "the two NICs do not support the same features"}},
    Row{4124,
        {Blame::kPath,
         "the peer was reached before and does not answer any more: its process or instance is "
         "gone, or its NIC is down"}},
    Row{4126,
        {Blame::kPath,
         "the peer could never be reached: check that security groups let EFA traffic through in "
         "both directions"}},
    Row{4127, {Blame::kPath, "the peer's queue pair is gone: its process has ended or restarted"}},
};

}  // namespace

Judgement judge(const fabric::CompletionError& error, bool is_efa) noexcept {
  if (is_efa) {
    for (const Row& row : kTable) {
      if (row.status == error.provider_error) return row.judgement;
    }
  }
  return {means_unreachable(error.error) || error.error == FI_EIO ? Blame::kPath : Blame::kMessage, nullptr};
}

}  // namespace weft::rdma
