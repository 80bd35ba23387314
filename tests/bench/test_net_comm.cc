#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/bench/test_net.h"

namespace weft::test_net {
namespace {

int messages_received = 0;

int number(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::atoi(value) : 0;
}

/// The number behind --rank in this process's command line, the last one if there are several; -1 without.
int rank_of_process() {
  std::ifstream file("/proc/self/cmdline");
  const std::string all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::string flag("--rank\0", 7);
  const std::size_t place = all.rfind(flag);
  return place == std::string::npos ? -1 : std::atoi(all.c_str() + place + flag.size());
}

Faults read_faults() {
  const char* only = std::getenv("WEFT_TEST_NET_RANK");
  const bool deaf = number("WEFT_TEST_NET_DEAF") != 0;
  if (only != nullptr && std::atoi(only) != rank_of_process()) return {.deaf = deaf};
  return {.corrupt_at = number("WEFT_TEST_NET_CORRUPT_AT"),
          .drop_at = number("WEFT_TEST_NET_DROP_AT"),
          .shorten_at = number("WEFT_TEST_NET_SHORTEN_AT"),
          .fail_at = number("WEFT_TEST_NET_FAIL_AT"),
          .kill_at = number("WEFT_TEST_NET_KILL_AT"),
          .hang_at = number("WEFT_TEST_NET_HANG_AT"),
          .busy = number("WEFT_TEST_NET_BUSY") != 0,
          .deaf = deaf,
          .no_device = number("WEFT_TEST_NET_NO_DEVICE") != 0,
          .fail_init = number("WEFT_TEST_NET_FAIL_INIT") != 0};
}

}  // namespace

const Faults& Faults::get() {
  static const Faults faults = read_faults();
  return faults;
}

Request* Comm::acquire() {
  for (Request& request : pool) {
    if (request.in_use) continue;
    request = Request{.comm = this, .in_use = true};
    return &request;
  }
  return nullptr;
}

ssize_t Comm::transfer(void* data, std::size_t size) const {
  const ssize_t count = sends ? send(fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL) : recv(fd, data, size, MSG_DONTWAIT);
  if (count > 0 || size == 0) return count;
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  return -1;
}

void Comm::progress() { sends ? progress_send() : progress_receive(); }

void Comm::progress_send() {
  while (!failed && !posted.empty()) {
    Request& request = *posted.front();
    header = {.size = request.sizes[0], .tag = request.tags[0], .reserved = 0};
    const bool in_header = moved < sizeof header;
    auto* data = in_header ? reinterpret_cast<std::byte*>(&header) + moved : request.data[0] + (moved - sizeof header);
    const std::size_t left = in_header ? sizeof header - moved : sizeof header + request.sizes[0] - moved;
    const ssize_t count = transfer(data, left);
    if (count < 0) failed = true;
    if (count <= 0 && left > 0) return;
    moved += static_cast<std::size_t>(count);
    if (moved < sizeof header + request.sizes[0]) continue;
    request.done = true;
    posted.pop_front();
    moved = 0;
  }
}

bool Comm::find_target() {
  for (Request* request : posted) {
    for (int part = 0; part < request->parts; ++part) {
      if (request->taken[part] || request->tags[part] != header.tag) continue;
      request->taken[part] = true;
      target = request;
      target_part = part;
      if (header.size > request->sizes[part]) failed = true;
      return !failed;
    }
  }
  return false;
}

void Comm::progress_receive() {
  // Nothing is read before a receive waits for something, as a message must find its buffer.
  while (!failed && !posted.empty()) {
    if (moved < sizeof header) {
      const ssize_t count = transfer(reinterpret_cast<std::byte*>(&header) + moved, sizeof header - moved);
      if (count < 0) failed = true;
      if (count <= 0) return;
      moved += static_cast<std::size_t>(count);
      continue;
    }
    if (target == nullptr && !find_target()) return;
    const std::size_t offset = moved - sizeof header;
    if (offset < header.size) {
      std::byte* place = target->data[target_part] + offset;
      std::byte waste[4096];
      const bool drop = Faults::get().drop_at == messages_received + 1;
      const std::size_t left = header.size - offset;
      const ssize_t count = drop ? transfer(waste, std::min(left, sizeof waste)) : transfer(place, left);
      if (count < 0) failed = true;
      if (count <= 0) return;
      moved += static_cast<std::size_t>(count);
      if (moved < sizeof header + header.size) continue;
    }
    finish_message();
  }
}

void Comm::finish_message() {
  ++messages_received;
  const Faults& faults = Faults::get();
  target->sizes[target_part] = header.size;
  if (faults.corrupt_at == messages_received && header.size > 0) {
    target->data[target_part][header.size / 2] ^= std::byte{4};
  }
  if (faults.shorten_at == messages_received && header.size > 0) --target->sizes[target_part];
  if (++target->filled == target->parts) {
    target->done = true;
    std::erase(posted, target);
  }
  target = nullptr;
  moved = 0;
}

}  // namespace weft::test_net
