#include "sim/formats/document/yaml_reader.h"

#include <sstream>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "sim/base/error.h"
#include "sim/formats/document/document_builder.h"
#include "sim/formats/document/source.h"

namespace stowplan::formats {
namespace {

// Takes the events of yaml-cpp's parser. In the stream the keys of a map are scalars that alternate with its
// values.
class Handler : public YAML::EventHandler {
 public:
  explicit Handler(const std::string& source, std::size_t size)
      : source_(source), builder_(source, size, size / 16) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Check(mark, "?", anchor);
    RefuseAsKey(mark);
    builder_.Null(Line(mark));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    Fail(mark, "aliases are not read; write the value out");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Check(mark, tag, anchor);
    if (builder_.WantsKey()) {
      builder_.Key(value, Line(mark));
    } else if (tag == "!") {  // yaml-cpp's word for quoted
      builder_.String(value, Line(mark));
    } else {
      builder_.Plain(value, Line(mark));
    }
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Check(mark, tag, anchor);
    RefuseAsKey(mark);
    builder_.BeginList(Line(mark));
  }
  void OnSequenceEnd() override { builder_.End(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Check(mark, tag, anchor);
    RefuseAsKey(mark);
    builder_.BeginObject(Line(mark));
  }
  void OnMapEnd() override { builder_.End(); }

  bool empty() const { return builder_.empty(); }
  Document Finish() { return builder_.Finish(); }

  [[noreturn]] void Fail(const YAML::Mark& mark, const std::string& what) const {
    throw InputError(source_ + (mark.is_null() ? "" : ":" + std::to_string(Line(mark))) + ": " + what);
  }

 private:
  static int Line(const YAML::Mark& mark) { return mark.line + 1; }
  void Check(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) const {
    if (anchor != 0) Fail(mark, "anchors are not read; remove the &name");
    if (!tag.empty() && tag != "?" && tag != "!")
      Fail(mark, "tags are not read; remove " + Quoted("!" + tag));
  }
  void RefuseAsKey(const YAML::Mark& mark) const {
    // yaml-cpp takes a list or map that is not closed for a key.
    if (builder_.WantsKey()) Fail(mark, "a key must be plain text, and every bracket must be closed");
  }

  const std::string& source_;
  DocumentBuilder builder_;
};

}  // namespace

Document ParseYaml(std::string_view text, const std::string& source, std::size_t most) {
  if (text.size() > most)
    throw InputError(source + ": is larger than " + std::to_string(most >> 20) +
                     " MiB, which no file of this kind is");
  CheckUtf8(text, source);
  std::istringstream stream{std::string(text)};
  Handler handler(source, text.size());
  try {
    YAML::Parser parser(stream);
    parser.HandleNextDocument(handler);
    if (handler.empty()) throw InputError(source + ": the file is empty");
    Handler rest(source, 0);
    if (parser.HandleNextDocument(rest))
      throw InputError(source + ": holds a second document; a file must hold one");
  } catch (const YAML::Exception& error) {
    const bool at_end = error.mark.pos + 1 >= static_cast<int>(text.size());
    handler.Fail(error.mark,
                 "is not valid YAML: " + error.msg + (at_end ? "; the file may be cut short" : ""));
  }
  return handler.Finish();
}

}  // namespace stowplan::formats
