// Embeds the texts given as arguments and prints how alike they are. Usage: embed MODEL_FOLDER TEXT...
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "inlay/inlay.h"

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: embed MODEL_FOLDER TEXT...\n");
    return 2;
  }
  const inlay::Result<inlay::Model> model = inlay::Model::load(argv[1]);
  if (!model) {
    std::fprintf(stderr, "%s\n", model.error().message.c_str());
    return 1;
  }
  const std::vector<std::string> texts(argv + 2, argv + argc);
  const std::vector<inlay::Result<inlay::Vector>> vectors = model->embed(texts);
  for (size_t i = 0; i < texts.size(); ++i) {
    if (!vectors[i]) {
      std::fprintf(stderr, "text %zu: %s\n", i, vectors[i].error().message.c_str());
      return 1;
    }
    for (size_t j = 0; j <= i; ++j) {
      std::printf("%s%.4f", j == 0 ? "" : " ",
                  std::inner_product(vectors[i]->begin(), vectors[i]->end(), vectors[j]->begin(), 0.0));
    }
    std::printf("  %s\n", texts[i].c_str());
  }
  return 0;
}
