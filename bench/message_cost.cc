// Sends messages to itself, receive posted first, for bench/message_cost.sh to count the instructions of.
//
// One process and one thread, so that the number of empty polls, and with it the count, does not depend on timing.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bench/net_plugin.h"

namespace weft::bench {
namespace {

constexpr int kWarmUp = 100;

/// Fails the program: everything here is a step that must succeed.
void require(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "weft-message-cost: %s failed\n", what);
  std::exit(1);
}

struct Loop {
  NetPlugin& plugin;
  std::vector<unsigned char> out;
  std::vector<unsigned char> in;
  void* send = nullptr;
  void* receive = nullptr;
  void* out_memory = nullptr;
  void* in_memory = nullptr;

  void connect() {
    alignas(8) std::byte handle[nccl::kNetHandleBytes] = {};
    void* listener = nullptr;
    require(plugin.listen(0, handle, &listener) == nccl::ncclSuccess, "listen");
    while (send == nullptr || receive == nullptr) {
      if (send == nullptr) require(plugin.connect(0, handle, &send) == nccl::ncclSuccess, "connect");
      if (receive == nullptr) require(plugin.accept(listener, &receive) == nccl::ncclSuccess, "accept");
    }
    require(plugin.close_listen(listener) == nccl::ncclSuccess, "closeListen");
    require(plugin.reg_mr(send, out.data(), out.size(), &out_memory) == nccl::ncclSuccess, "regMr");
    require(plugin.reg_mr(receive, in.data(), in.size(), &in_memory) == nccl::ncclSuccess, "regMr");
  }

  void close() {
    plugin.dereg_mr(send, out_memory);
    plugin.dereg_mr(receive, in_memory);
    plugin.close_send(send);
    plugin.close_recv(receive);
  }
};

bool is_done(NetPlugin& plugin, void* request, int* size) {
  int done = 0;
  require(plugin.test(request, &done, size) == nccl::ncclSuccess, "test");
  return done != 0;
}

void pass_messages(Loop& loop, int count) {
  void* data = loop.in.data();
  std::size_t size = loop.in.size();
  int tag = 0;
  for (int i = 0; i < count; ++i) {
    loop.out.back() = static_cast<unsigned char>(i);
    void* receiving = nullptr;
    void* sending = nullptr;
    while (receiving == nullptr) {
      require(loop.plugin.irecv(loop.receive, 1, &data, &size, &tag, &loop.in_memory, &receiving) == nccl::ncclSuccess,
              "irecv");
    }
    while (sending == nullptr) {
      require(loop.plugin.isend(loop.send, loop.out.data(), size, tag, loop.out_memory, &sending) == nccl::ncclSuccess,
              "isend");
    }
    int sent = 0;
    int received = 0;
    while (!is_done(loop.plugin, receiving, &received)) {
    }
    while (!is_done(loop.plugin, sending, &sent)) {
    }
    require(received == static_cast<int>(size) && loop.in.back() == loop.out.back(), "data check");
  }
}

}  // namespace
}  // namespace weft::bench

/// What is counted: a plain name for the instrumentation to find.
extern "C" [[gnu::noinline]] void weft_counted_messages(weft::bench::Loop& loop, int count) {
  weft::bench::pass_messages(loop, count);
}

int main(int argc, char** argv) {
  using namespace weft::bench;
  if (argc != 4) {
    std::fprintf(stderr, "usage: weft-message-cost PLUGIN MESSAGES BYTES\n");
    return 2;
  }
  auto plugin = NetPlugin::load(argv[1], 0);
  if (!plugin) {
    std::fprintf(stderr, "weft-message-cost: %s\n", plugin.error().what.c_str());
    return 1;
  }
  require((*plugin)->init(1).has_value(), "init");
  require((*plugin)->devices().value_or(0) > 0, "devices");
  const auto bytes = static_cast<std::size_t>(std::strtoull(argv[3], nullptr, 10));
  require(bytes > 0, "reading the number of bytes");
  Loop loop{**plugin, std::vector<unsigned char>(bytes), std::vector<unsigned char>(bytes)};
  loop.connect();
  // Not counted: connections, tables and caches settle.
  pass_messages(loop, kWarmUp);
  weft_counted_messages(loop, std::atoi(argv[2]));
  loop.close();
  return 0;
}
