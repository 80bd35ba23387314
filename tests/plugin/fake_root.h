// A folder that stands for "/", with a /sys and a /dev of the test's making.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace weft::test {

/// Removes the folder at the end of its life.
class FakeRoot {
 public:
  FakeRoot() {
    std::string name = (std::filesystem::temp_directory_path() / "weft-root-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  ~FakeRoot() { std::filesystem::remove_all(path_); }
  FakeRoot(const FakeRoot&) = delete;
  FakeRoot& operator=(const FakeRoot&) = delete;

  const std::filesystem::path& path() const { return path_; }

  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((path_ / file).parent_path());
    std::ofstream(path_ / file) << text;
  }

  /// `driver` empty: no driver has taken the function.
  void add_pci_function(const std::string& address, const std::string& vendor, const std::string& device,
                        const std::string& driver = "") const {
    const std::string folder = "sys/bus/pci/devices/" + address;
    write(folder + "/vendor", vendor + "\n");
    write(folder + "/device", device + "\n");
    if (!driver.empty()) {
      std::filesystem::create_symlink("../../../bus/pci/drivers/" + driver, path_ / folder / "driver");
    }
  }

 private:
  std::filesystem::path path_;
};

}  // namespace weft::test
