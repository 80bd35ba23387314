// What the fake fabric is made of: its NICs, the version it claims, the size of its pools.
#pragma once

#include <rdma/fabric.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::test {

/// One NIC, which the fake's fi_getinfo offers if the hints allow.
struct FakeNic {
  std::string name = "fake0";
  std::string provider = "fake";
  std::string fabric = "fake-net";
  /// With FI_RMA and its kin, one-sided operations as well. FI_MR_VIRT_ADDR in `mr_mode` says how they are addressed.
  std::uint64_t caps = FI_MSG | FI_TAGGED | FI_SEND | FI_RECV | FI_LOCAL_COMM | FI_REMOTE_COMM;
  /// What the application must do. With FI_MR_LOCAL, a post without a descriptor that covers it is refused.
  int mr_mode = 0;
  /// FI_CONTEXT or FI_CONTEXT2: the fake writes into each operation's context and checks that nobody else does.
  std::uint64_t mode = FI_CONTEXT2;
  std::size_t max_message = std::size_t{1} << 30;  ///< bytes
  std::size_t tx_size = 1024;                      ///< sends in flight per endpoint; more get -FI_EAGAIN
  std::size_t rx_size = 1024;                      ///< posted receives per endpoint; more get -FI_EAGAIN
  std::size_t speed_mbps = 100'000;                ///< 0: the NIC has no fid_nic to tell it
};

/// How fi_cq_strerror gives its text: providers do it in all three ways.
enum class ErrorText : std::uint8_t { kInBuffer, kStatic, kNone };

struct FakeOptions {
  std::vector<FakeNic> nics = {FakeNic{}};
  std::uint32_t version = FI_VERSION(1, 20);
  std::size_t cq_entries = 4096;  ///< depth of completion queues opened with size 0
  std::size_t flights = 1024;     ///< messages under way in the whole network; more get -FI_EAGAIN
  /// Messages up to this size are copied when they arrive without a receive, and their sends complete; the sends of
  /// longer ones complete only when the receive is there.
  std::size_t eager_bytes = 4096;
  /// Sums the bytes of each send when posted and when delivered, to catch buffers changed too early.
  bool check_send_buffers = true;
  ErrorText error_text = ErrorText::kInBuffer;
};

}  // namespace weft::test
