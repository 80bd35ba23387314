#include "transports/fabric/fid.h"

#include <gtest/gtest.h>
#include <rdma/fi_errno.h>

#include <optional>
#include <type_traits>

#include "tests/support/log_capture.h"

namespace weft::fabric {
namespace {

/// A fabric object that only counts its closes.
struct Counted : fid_fabric {
  int closes = 0;
  int result = 0;

  Counted() : fid_fabric{} { fid.ops = &table(); }

 private:
  static fi_ops& table() {
    static fi_ops ops = [] {
      fi_ops made{};
      made.size = sizeof made;
      made.close = [](::fid* raw) {
        auto& self = static_cast<Counted&>(*reinterpret_cast<fid_fabric*>(raw));
        ++self.closes;
        return self.result;
      };
      return made;
    }();
    return ops;
  }
};

using Owner = Fid<fid_fabric>;
static_assert(!std::is_copy_constructible_v<Owner> && !std::is_copy_assignable_v<Owner>);
static_assert(std::is_nothrow_move_constructible_v<Owner> && std::is_nothrow_move_assignable_v<Owner>);
static_assert(sizeof(Owner) == sizeof(void*));

TEST(FidTest, ClosesOnce) {
  Counted object;
  {
    const Owner owner(&object);
    EXPECT_TRUE(owner);
    EXPECT_EQ(owner.get(), &object);
  }
  EXPECT_EQ(object.closes, 1);
}

TEST(FidTest, EmptyClosesNothing) {
  const Owner owner;
  EXPECT_FALSE(owner);
  EXPECT_EQ(owner.get(), nullptr);
}

TEST(FidTest, MoveConstructionHandsOver) {
  Counted object;
  {
    Owner first(&object);
    const Owner second(std::move(first));
    EXPECT_EQ(first.get(), nullptr);  // NOLINT(bugprone-use-after-move): that is the question
    EXPECT_EQ(second.get(), &object);
  }
  EXPECT_EQ(object.closes, 1);
}

TEST(FidTest, MoveAssignmentLosesNothing) {
  Counted one;
  Counted two;
  {
    Owner first(&one);
    {
      Owner second(&two);
      first = std::move(second);
      EXPECT_EQ(first.get(), &two);
    }
    EXPECT_EQ(one.closes, 1) << "what was overwritten must be closed";
    EXPECT_EQ(two.closes, 0);
  }
  EXPECT_EQ(one.closes, 1);
  EXPECT_EQ(two.closes, 1);
}

TEST(FidTest, SelfAssignmentKeepsTheObject) {
  Counted object;
  {
    Owner owner(&object);
    Owner& same = owner;
    owner = std::move(same);
    EXPECT_EQ(owner.get(), &object);
    EXPECT_EQ(object.closes, 0);
  }
  EXPECT_EQ(object.closes, 1);
}

TEST(FidTest, FailedCloseWarns) {
  test::LogCapture::current().expect_warning("fi_close failed: error " + std::to_string(FI_EBUSY));
  Counted object;
  object.result = -FI_EBUSY;
  std::optional<Owner> owner(&object);
  owner.reset();
  EXPECT_EQ(object.closes, 1);
}

}  // namespace
}  // namespace weft::fabric
