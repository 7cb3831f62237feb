// The page's files (folder web/), which the build puts into the program.
#pragma once

#include <span>
#include <string_view>

#include "server/http/http.h"

namespace inlay {

struct WebFile {
  std::string_view name;  // "index.html"
  std::string_view content_type;
  std::string_view bytes;
};

std::span<const WebFile> web_files();
HttpResponse render_web_file(const WebFile& file);

}  // namespace inlay
