#include "jobs/validate/script.h"

#include <gtest/gtest.h>

namespace inlay {
namespace {

TEST(Script, IsThatOfMostLetters) {
  const std::pair<const char*, const char*> cases[] = {
      {"a plain text", "Latin"},
      {"Über öffentliche Straßen", "Latin"},
      {"将命令输出保存至 log 日志文件", "Han"},
      {"コマンドの出力を保存する", "Kana"},
      {"東京都知事選挙投票所一覧の表", "Han"},
      {"日本語の文章", "Kana"},
      {"명령 출력을 저장", "Hangul"},
      {"сохраняет вывод команды", "Cyrillic"},
      {"αποθηκεύει", "Greek"},
      {"يحفظ إخراج الأمر", "Arabic"},
      {"שומר את הפלט", "Hebrew"},
      {"आदेश का आउटपुट", "Devanagari"},
      {"บันทึกผลลัพธ์", "Thai"},
      {"თბილისი", "Georgian"},
      {"12 345 !?", "other"},
      {"", "other"},
      {"\xFF\xFE\xC3 abc", "Latin"},
      {"abc \xE4\xBD", "Latin"},
  };
  for (const auto& [text, script] : cases) EXPECT_EQ(script_of(text), script) << text;
}

}  // namespace
}  // namespace inlay
