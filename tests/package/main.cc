// Uses the installed headers as a user would, without the warning flags and include folders of the project.
#include <inlay/error.h>

#include <cstdio>

int main() {
  const inlay::Result<int> answer = tl::make_unexpected(inlay::Error{inlay::ErrorCode::kNotFound, "no model"});
  if (answer) return 1;
  std::printf("%s\n", answer.error().message.c_str());
}
