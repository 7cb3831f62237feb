// For readers of folders: an input that holds several files, each after a line "=== NAME".
#pragma once

#include <initializer_list>
#include <string_view>

#include "base/test_folder.h"

namespace inlay {

class FuzzFolder {
 public:
  // In place of what was there before. Only files of these names are written, whatever the input says.
  void fill(std::string_view bytes, std::initializer_list<std::string_view> names);
  void put(std::string_view name, std::string_view content) const { folder_.write(name, content); }

  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  TestFolder folder_;
};

}  // namespace inlay
