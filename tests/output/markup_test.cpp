#include "output/markup.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/testing.h"

namespace stowplan::output {
namespace {

TEST(Latex, TextStaysText) {
  EXPECT_EQ(EscapeLatex("a & 50 % _ # $ {x}"), "a \\& 50 \\% \\_ \\# \\$ \\{x\\}");
  EXPECT_EQ(EscapeLatex("\\input ^^5c ~ –"),
            "\\textbackslash{}input \\textasciicircum{}\\textasciicircum{}5c \\textasciitilde{} --");
  EXPECT_EQ(EscapeLatex("[x]"), "{}[x]");
  EXPECT_EQ(EscapeLatex("* x"), "{}* x");
}

// Read as LaTeX reads it, the text is there again: whatever is special stands in one of the commands that print it.
RC_GTEST_PROP(Latex, NothingSpecialIsLeft, ()) {
  const auto text = *rc::gen::container<std::string>(
      rc::gen::element('\\', '^', '~', '{', '}', '%', '&', '#', '_', '$', 'a', ' '));
  const std::string written = EscapeLatex(text);
  std::string read;
  for (std::size_t at = 0; at < written.size();) {
    const char c = written[at];
    if (c != '\\') {
      RC_ASSERT(c == 'a' || c == ' ');
      read += c;
      ++at;
      continue;
    }
    const auto is = [&](std::string_view word) { return written.compare(at, word.size(), word) == 0; };
    if (is("\\textbackslash{}")) {
      read += '\\';
      at += 16;
    } else if (is("\\textasciicircum{}")) {
      read += '^';
      at += 18;
    } else if (is("\\textasciitilde{}")) {
      read += '~';
      at += 17;
    } else {
      RC_ASSERT(at + 1 < written.size() && std::string("{}%&#_$").find(written[at + 1]) != std::string::npos);
      read += written[at + 1];
      at += 2;
    }
  }
  RC_ASSERT(read == text);
}

TEST(Markdown, TextStaysText) {
  EXPECT_EQ(EscapeMarkdown("<b>[a](b) 1 < 2"), "\\<b>[a]\\(b) 1 \\< 2");
  EXPECT_EQ(MarkdownRow({"a|b", "c"}), "| a\\|b | c |\n");
  EXPECT_EQ(MarkdownRow({"a\nb", "c"}), "| a b | c |\n") << "one row";
  EXPECT_EQ(MarkdownCode("a`b"), "`a'b`");
}

}  // namespace
}  // namespace stowplan::output
