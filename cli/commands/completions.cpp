#include "cli/commands/completions.h"

#include <algorithm>
#include <iterator>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands/listing.h"
#include "sim/base/error.h"
#include "sim/base/nearest_name.h"
#include "sim/base/spec.h"

namespace stowplan::cli {
namespace {

// Which names an option takes, by its own name and that of `stowplan list`; positionals by the text of their value.
struct Takes {
  const char* option;
  const char* kind;
};
constexpr Takes kTakes[] = {
    {"--agent", "agents"},           {"--agents", "agents"},
    {"--placement", "agents"},       {"--graph", "workloads"},
    {"--workloads", "workloads"},    {"G", "workloads"},
    {"--cluster", "clusters"},       {"--grouper", "groupers"},
    {"--cost-model", "cost-models"}, {"--interconnect", "interconnects"},
    {"--table", "tables"},           {"NAME", "tables"},
};

constexpr const char* kBash = R"(# Completion of stowplan for bash: source <(stowplan completion bash)
_stowplan() {
  local IFS=$'\n'
  COMPREPLY=($("${COMP_WORDS[0]}" completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _stowplan stowplan
)";
constexpr const char* kZsh = R"(#compdef stowplan
# Completion of stowplan for zsh: source <(stowplan completion zsh), or as _stowplan in a folder of $fpath
_stowplan() {
  local -a found
  found=("${(@f)$("${words[1]}" completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "${found[1]}" ]]; then compadd -- "${found[@]}"; else _files; fi
}
if [[ "${funcstack[1]}" == _stowplan ]]; then _stowplan "$@"; else compdef _stowplan stowplan; fi
)";
constexpr const char* kFish = R"(# Completion of stowplan for fish: stowplan completion fish | source
function __stowplan_words
  set -l typed (commandline -opc)
  $typed[1] completion words -- $typed[2..-1] (commandline -ct) 2>/dev/null
end
complete -c stowplan -a '(__stowplan_words)'
)";
struct Shell {
  const char* name;
  const char* script;
};
constexpr Shell kShells[] = {{"bash", kBash}, {"zsh", kZsh}, {"fish", kFish}};

bool IsFlag(const CLI::Option& option) {
  return option.get_type_size() == 0;
}

bool TakesSeveral(const CLI::Option& option) {
  return option.get_items_expected_max() > 1;
}

// "quick|standard|paper" says all that there is.
std::vector<std::string> ChoicesIn(const std::string& text) {
  std::vector<std::string> choices;
  if (text.find('|') == std::string::npos) return choices;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t bar = std::min(text.find('|', at), text.size());
    if (text.substr(at, bar - at) != "FILE") choices.push_back(text.substr(at, bar - at));
    at = bar + 1;
  }
  return choices;
}

std::vector<std::string> ValuesOf(const CLI::Option& option) {
  if (option.get_option_text() == "KIND") return ListedKinds();
  const std::vector<std::string> choices = ChoicesIn(option.get_option_text());
  if (!choices.empty()) return choices;
  const std::string name = option.nonpositional() ? option.get_name() : option.get_option_text();
  const auto* takes = std::find_if(std::begin(kTakes), std::end(kTakes),
                                   [&](const Takes& row) { return name == row.option; });
  return takes == std::end(kTakes) ? std::vector<std::string>() : NamesOfKind(takes->kind);
}

// Where the cursor is: in which verb, behind how many positionals, behind which option that wants a value.
class Place {
 public:
  explicit Place(const CLI::App& program) : app_(&program) {}

  void Pass(const std::string& word) {
    if (word.starts_with('-') && word.size() > 1) {
      wants_ = app_->get_option_no_throw(word);
      if (wants_ != nullptr) given_.push_back(wants_);
      if (wants_ != nullptr && IsFlag(*wants_)) wants_ = nullptr;
      has_value_ = false;
    } else if (wants_ != nullptr && (!has_value_ || TakesSeveral(*wants_))) {
      has_value_ = true;
    } else if (const CLI::App* verb = Verb(word)) {
      *this = Place(*verb);
    } else {
      ++positionals_;
      last_ = word;
    }
  }

  std::vector<std::string> Words(bool option) const {
    if (option) return Options();
    if (wants_ != nullptr && !has_value_) return ValuesOf(*wants_);
    std::vector<std::string> words;
    if (wants_ != nullptr && TakesSeveral(*wants_)) words = ValuesOf(*wants_);
    for (const CLI::App* verb : Verbs()) words.push_back(verb->get_name());
    const std::vector<const CLI::Option*> places =
        app_->get_options([](const CLI::Option* candidate) { return candidate->get_positional(); });
    if (!places.empty() && words.empty()) {
      const CLI::Option& here = *places[std::min(positionals_, places.size() - 1)];
      const bool of_kind = app_->get_name() == "list" && positionals_ == 1;
      if (of_kind && std::ranges::count(ListedKinds(), last_) > 0) return NamesOfKind(last_);
      if (positionals_ < places.size() || TakesSeveral(here)) words = ValuesOf(here);
    }
    return words;
  }

 private:
  std::vector<const CLI::App*> Verbs() const {
    return app_->get_subcommands([](const CLI::App*) { return true; });
  }
  const CLI::App* Verb(const std::string& word) const {
    for (const CLI::App* verb : Verbs()) {
      if (verb->get_name() == word) return verb;
    }
    return nullptr;
  }
  std::vector<std::string> Options() const {
    std::vector<std::string> names;
    for (const CLI::Option* option : app_->get_options()) {
      const bool again =
          TakesSeveral(*option) || std::find(given_.begin(), given_.end(), option) == given_.end();
      if (option->nonpositional() && again) names.push_back(option->get_name());
    }
    return names;
  }

  const CLI::App* app_;
  const CLI::Option* wants_ = nullptr;
  bool has_value_ = false;
  std::vector<const CLI::Option*> given_;
  std::size_t positionals_ = 0;
  std::string last_;  // of them
};

}  // namespace

std::vector<std::string> Completions(const CLI::App& program, const std::vector<std::string>& typed) {
  Place place(program);
  const std::string last = typed.empty() ? "" : typed.back();
  for (std::size_t i = 0; i + 1 < typed.size(); ++i) place.Pass(typed[i]);
  std::vector<std::string> words = place.Words(last.starts_with('-'));
  std::erase_if(words, [&](const std::string& word) { return !word.starts_with(last); });
  return words;
}

std::string CompletionScript(const std::string& shell) {
  std::vector<std::string> names;
  for (const Shell& row : kShells) {
    if (shell == row.name) return row.script;
    names.emplace_back(row.name);
  }
  throw InputError(fmt::format("stowplan completion: there is none for \"{}\"{}; there is for {}.", shell,
                               DidYouMean(shell, names), JoinNames(names)));
}

}  // namespace stowplan::cli
