// The file of `inlay serve --config`, with the flags that the command has.
#include "cli/command.h"
#include "cli/config_file.h"
#include "fuzz_folder.h"
#include "fuzz_target.h"

namespace inlay {

bool fuzz_serve_config(std::string_view bytes) {
  static const FuzzFolder folder;
  folder.put("serve.toml", bytes);
  CLI::App app("", "serve");
  const std::unique_ptr<Command> command = make_serve_command();
  command->add_flags(app);
  return apply_config(app, (folder.path() / "serve.toml").string()).has_value();
}

}  // namespace inlay
