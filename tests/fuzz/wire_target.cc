#include "tests/fuzz/wire_target.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "tests/fuzz/script.h"
#include "tests/support/comm_pair.h"

namespace weft::test {
namespace {

constexpr int kMaxSteps = 64;

void quiet(log::Level, const char*, int, const char*) noexcept {}

/// Nobody reads the log here, and it would be long.
class QuietLog {
 public:
  QuietLog() : previous_(log::set_sink(quiet)) {}
  ~QuietLog() { log::set_sink(previous_); }
  QuietLog(const QuietLog&) = delete;
  QuietLog& operator=(const QuietLog&) = delete;

 private:
  log::Sink previous_;
};

FakeOptions small() {
  FakeOptions options;
  options.flights = 256;
  options.eager_bytes = 2048;
  options.cq_entries = 1024;
  options.nics.front().rx_size = 512;
  return options;
}

/// The device under attack (`far` of the pair), what it has, and the attacker.
class World {
 public:
  World() : pair_(small(), patient_options(), true) {
    receiving_ = pair_.connect();
    sending_ = test::connect(*pair_.far, *pair_.near);
    listener_ = listen_on(*pair_.far, handle_);
    near_listener_ = listen_on(*pair_.near, near_handle_);
    attempt_ = near_handle_;
    // Under way, and never answered by anybody but the attacker.
    (void)sendrecv::connect(*pair_.far, attempt_);
    stranger_.emplace(pair_.fake);
  }

  void run(Script& script) {
    for (int i = 0; i < kMaxSteps && !script.at_end(); ++i) step(script);
  }

  /// The device still serves honest peers.
  std::string check() {
    attackers_.clear();
    const auto made = try_connect(*pair_.near, *pair_.far);
    return made ? "" : "no honest peer can connect any more: " + made.error().what;
  }
  std::vector<std::string> complaints() { return pair_.fake.take_complaints(); }

 private:
  void step(Script& script) {
    switch (static_cast<Step>(script.byte() % kSteps)) {
      case Step::kHandle: handle(script); break;
      case Step::kRaw: stranger_->send_bytes(*pair_.far, std::as_bytes(script.bytes(script.number16() % 1100))); break;
      case Step::kRequest: request(script); break;
      case Step::kReply: reply(script); break;
      case Step::kNotice: notice(script); break;
      case Step::kTagged: tagged(script); break;
      case Step::kReceive: receive(script); break;
      case Step::kSend: send(script); break;
      case Step::kTest: test_requests(); break;
      case Step::kPoll: poll(); break;
      case Step::kClose: close(script.byte()); break;
    }
  }

  Key key(Script& script) {
    switch (script.byte() % 8) {
      case 0: return listener_ ? listener_->key() : 0;
      case 1: return receiving_.receive ? receiving_.receive->key() : 0;
      case 2: return sending_.send ? sending_.send->key() : 0;
      case 3: return attempt_key();
      case 4: return receiving_.send ? receiving_.send->key() : 0;
      default: return script.number64();
    }
  }
  Key attempt_key() const {
    ConnectHandle fields;
    std::memcpy(&fields, attempt_.data(), sizeof fields);
    return fields.connector;
  }
  std::uint64_t nonce() const {
    ConnectHandle fields;
    std::memcpy(&fields, handle_.data(), sizeof fields);
    return fields.nonce;
  }

  /// connect() with a handle that is whole, damaged, or damaged and sealed anew.
  void handle(Script& script) {
    Handle bytes = near_handle_;
    const std::uint8_t how = script.byte();
    if ((how & 1) != 0) script.damage(std::as_writable_bytes(std::span(bytes)));
    if ((how & 2) != 0) {
      ConnectHandle fields;
      std::memcpy(&fields, bytes.data(), sizeof fields);
      if ((how & 4) != 0) fields.connector = key(script);
      seal(fields);
      std::memcpy(bytes.data(), &fields, sizeof fields);
    }
    if (!keep_polling(sendrecv::connect(*pair_.far, bytes))) return;
    if (attackers_.size() < 16) attackers_.push_back(bytes);
  }
  bool keep_polling(Result<std::unique_ptr<sendrecv::SendComm>> outcome) {
    if (!outcome) return false;
    if (*outcome == nullptr) return true;
    sendrecv::close(std::move(*outcome));
    return false;
  }

  template <class Message>
  void finish_and_send(Script& script, Message& message, ControlType type) {
    message.header = make_header(type, TransportId::kSendRecv, wire_size(message), message.header.target);
    // What a lie about the payload's size would send is what lies behind it: never more than the struct.
    std::array<std::byte, sizeof(Message)> bytes;
    std::memcpy(bytes.data(), &message, sizeof message);
    if (script.byte() % 4 == 0) script.damage(bytes);
    stranger_->send_bytes(*pair_.far, std::span(bytes).first(std::min(wire_size(message), sizeof message)));
  }

  void request(Script& script) {
    ConnectRequest message{};
    script.into(message);
    const std::uint8_t how = script.byte();
    message.header.target = key(script);
    if ((how & 1) != 0) message.nonce = nonce();
    if ((how & 2) != 0) {
      const auto address = (how & 4) != 0 ? stranger_->address() : pair_.near->address();
      std::memcpy(message.address, address.data(), address.size());
    }
    if ((how & 8) != 0) message.address_size = static_cast<std::uint16_t>(pair_.far->address().size());
    if ((how & 16) != 0) message.host[sizeof message.host - 1] = '\0';
    message.payload_size %= kMaxPayloadBytes + 4;
    finish_and_send(script, message, ControlType::kConnectRequest);
  }

  void reply(Script& script) {
    ConnectReply message{};
    script.into(message);
    const std::uint8_t how = script.byte();
    message.header.target = key(script);
    if ((how & 1) != 0) message.verdict = Verdict::kAccepted;
    if ((how & 2) != 0) message.receiver = key(script);
    message.payload_size %= kMaxPayloadBytes + 4;
    finish_and_send(script, message, ControlType::kConnectReply);
  }

  void notice(Script& script) {
    Notice message{};
    script.into(message);
    message.header.target = key(script);
    if (script.byte() % 2 == 0) message.kind = static_cast<NoticeKind>(script.byte() % 6);
    finish_and_send(script, message, ControlType::kNotice);
  }

  void tagged(Script& script) {
    const std::uint64_t tag = script.byte() % 2 == 0
                                  ? data_tag(key(script), script.byte() % 4) + (script.byte() % 4) * kNextInSequence
                                  : script.number64();
    stranger_->send_tagged(*pair_.far, std::as_bytes(script.bytes(script.number16() % 600)), tag);
  }

  void receive(Script& script) {
    if (!receiving_.receive || requests_.size() >= 64) return;
    const std::size_t count = 1 + script.byte() % sendrecv::kMaxGroup;
    std::array<Buffer, sendrecv::kMaxGroup> buffers;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t size = script.number16() % 500;
      buffers[i] = {std::span(memory_).subspan(next_, size), script.byte() % 4};
      next_ += size;
    }
    sendrecv::Request* out = nullptr;
    try_receive(*receiving_.receive, std::span(buffers).first(count), out, script.byte() % 2 == 0);
    if (out != nullptr) requests_.push_back(out);
  }

  void send(Script& script) {
    if (!sending_.send || requests_.size() >= 64) return;
    sendrecv::Request* out = nullptr;
    try_send(*sending_.send, std::span<const std::byte>(memory_).last(script.number16() % 3000), script.byte() % 4,
             out);
    if (out != nullptr) requests_.push_back(out);
  }

  void test_requests() {
    std::array<int, sendrecv::kMaxGroup> sizes{};
    std::erase_if(requests_,
                  [&](sendrecv::Request* each) { return sendrecv::test(*each, sizes.data()) != TestStatus::kPending; });
  }

  void poll() {
    pair_.progress();
    if (listener_ && !accepted_) {
      auto outcome = sendrecv::accept(*listener_);
      if (outcome) accepted_.reset(outcome->release());
    }
    std::erase_if(attackers_, [&](Handle& each) { return !keep_polling(sendrecv::connect(*pair_.far, each)); });
    if (attempting_) attempting_ = keep_polling(sendrecv::connect(*pair_.far, attempt_));
  }

  void close(std::uint8_t which) {
    switch (which % 5) {
      case 0:
        receiving_.receive.reset();
        requests_.clear();
        break;
      case 1:
        sending_.send.reset();
        requests_.clear();
        break;
      case 2: listener_.reset(); break;
      case 3: accepted_.reset(); break;
      default: receiving_.send.reset(); break;
    }
  }

  // Read and written by operations, so it goes last.
  std::vector<std::byte> memory_ = std::vector<std::byte>(64 * sendrecv::kMaxGroup * 500 + 3000);
  std::size_t next_ = 0;
  DevicePair pair_;
  CommPair receiving_;  ///< its receiving end is on the device under attack
  CommPair sending_;    ///< its sending end
  Handle handle_{};
  Handle near_handle_{};
  Handle attempt_{};
  bool attempting_ = true;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<Listener> near_listener_;
  RecvEnd accepted_;
  std::vector<Handle> attackers_;
  std::vector<sendrecv::Request*> requests_;
  std::optional<Stranger> stranger_;
};

}  // namespace

std::string run_wire_input(std::span<const std::uint8_t> input) {
  const QuietLog no_lines;
  World world;
  Script script(input);
  world.run(script);
  std::string wrong = world.check();
  for (const std::string& complaint : world.complaints()) wrong += (wrong.empty() ? "" : "; ") + complaint;
  return wrong;
}

std::vector<std::vector<std::uint8_t>> wire_seeds() {
  std::vector<std::vector<std::uint8_t>> seeds;
  // Each step alone, with all its options, then pairs of steps.
  for (std::uint8_t step = 0; step < kSteps; ++step) {
    for (const std::uint8_t options : {0, 1, 3, 7, 31}) {
      std::vector<std::uint8_t> seed(1200, options);
      seed.front() = step;
      seeds.push_back(seed);
    }
    for (std::uint8_t next = 0; next < kSteps; ++next) {
      std::vector<std::uint8_t> seed(2000);
      for (std::size_t i = 0; i < seed.size(); ++i) seed[i] = static_cast<std::uint8_t>(i % 3 == 0 ? step : next);
      seeds.push_back(seed);
    }
  }
  return seeds;
}

}  // namespace weft::test
