// Ranks texts for a query with a cross-encoder. Usage: rerank MODEL QUERY TEXT...
#include <inlay/inlay.h>

#include <cstdio>

int main(int count, char** arguments) {
  if (count < 4) {
    std::fprintf(stderr, "usage: rerank MODEL QUERY TEXT...\n");
    return 2;
  }
  const inlay::Result<inlay::Model> model = inlay::Model::load(arguments[1]);
  if (!model) {
    std::fprintf(stderr, "%s\n", model.error().message.c_str());
    return 1;
  }
  const std::vector<std::string> texts(arguments + 3, arguments + count);
  const inlay::Result<std::vector<inlay::RankedText>> ranked = model->rerank(arguments[2], texts);
  if (!ranked) {
    std::fprintf(stderr, "%s\n", ranked.error().message.c_str());
    return 1;
  }
  for (const inlay::RankedText& text : *ranked) {
    std::printf("%.6f  %s\n", static_cast<double>(text.score), texts[text.index].c_str());
  }
  return 0;
}
