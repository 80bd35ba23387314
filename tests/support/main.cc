// Runs the tests of a program, each inside a LogCapture.
#include <gtest/gtest.h>

#include <memory>

#include "tests/support/log_capture.h"

namespace {

class CaptureLogOfEachTest : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo&) override { capture_ = std::make_unique<weft::test::LogCapture>(); }
  void OnTestEnd(const testing::TestInfo&) override { capture_.reset(); }

  std::unique_ptr<weft::test::LogCapture> capture_;
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(new CaptureLogOfEachTest);
  return RUN_ALL_TESTS();
}
