#include "nnef/diagnostic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <limits>
#include <numeric>

namespace nnef {
namespace {

constexpr size_t kMaxLineWidth = 160;   // bytes of a source line that are shown
constexpr size_t kContextBefore = 60;   // bytes kept before the caret when a line is cut
constexpr size_t kMaxNameLength = 128;  // longer names are not compared
constexpr std::string_view kEllipsis = "...";

struct Style {
  std::string_view bold, error, warning, note, caret, reset;
};
constexpr Style kPlain = {"", "", "", "", "", ""};
constexpr Style kColor = {"\x1b[1m",  "\x1b[1;31m", "\x1b[1;35m",
                          "\x1b[36m", "\x1b[1;32m", "\x1b[0m"};

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

/// The length of the well-formed UTF-8 sequence at the front of `text`; 0 when there is none.
size_t utf8_length(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const size_t length = lead < 0x80                   ? 1
                        : lead >= 0xC2 && lead < 0xE0 ? 2
                        : lead >= 0xE0 && lead < 0xF0 ? 3
                        : lead >= 0xF0 && lead < 0xF5 ? 4
                                                      : 0;
  if (length == 0 || length > text.size()) return 0;
  const auto tail = text.substr(1, length - 1);
  return std::all_of(tail.begin(), tail.end(), is_continuation) ? length : 0;
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

/// Messages quote names and strings of the input: control bytes other than line ends and tabs must
/// not reach a terminal.
std::string printable(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    const size_t length = utf8_length(text.substr(i));
    const bool layout = text[i] == '\n' || text[i] == '\t';
    if (length == 0 || (is_control(text[i]) && !layout)) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i]));
      ++i;
    } else {
      result += text.substr(i, length);
      i += length;
    }
  }
  return result;
}

/// Appends the source line at `where` and a line of carets under the range (its first line only).
void append_excerpt(std::string& out, const Location& where, const Style& style) {
  const auto position = where.source->line_column(where.begin);
  std::string_view line = where.source->line(position.line);
  const size_t begin = std::min<size_t>(position.column - 1, line.size());
  const size_t length = where.end > where.begin ? where.end - where.begin : 1;
  const size_t end =
      std::min(std::max(begin + 1, begin + length), std::max(line.size(), begin + 1));

  size_t from = 0;
  size_t to = line.size();
  if (line.size() > kMaxLineWidth) {
    from = begin > kContextBefore ? begin - kContextBefore : 0;
    to = std::min(line.size(), from + kMaxLineWidth);
    while (from > 0 && is_continuation(line[from])) --from;
    while (to < line.size() && is_continuation(line[to])) ++to;
  }

  std::string text;
  std::string carets;
  if (from > 0) {
    text += kEllipsis;
    carets.append(kEllipsis.size(), ' ');
  }
  for (size_t i = from; i < to;) {
    const size_t step = std::max<size_t>(utf8_length(line.substr(i)), 1);
    const bool shown =
        utf8_length(line.substr(i)) != 0 && (line[i] == '\t' || !is_control(line[i]));
    text += shown ? line.substr(i, step) : "?";
    if (i < end) carets += i >= begin ? '^' : line[i] == '\t' ? '\t' : ' ';
    i += step;
  }
  if (begin >= to) carets += '^';
  if (to < line.size()) text += kEllipsis;
  out += fmt::format("{}\n{}{}{}\n", text, style.caret, carets, style.reset);
}

std::string position_text(const Location& where) {
  const auto position = where.source->line_column(where.begin);
  return fmt::format("{}:{}:{}", printable(where.source->name()), position.line, position.column);
}

/// Optimal string alignment distance of lower-cased names (insert, delete, replace, swap
/// neighbours).
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1);
  std::vector<size_t> last(b.size() + 1);
  std::vector<size_t> now(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        now[j] = std::min(now[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

}  // namespace

Source::Source(std::string name, std::string text)
    : name_(std::move(name)), text_(std::move(text)), line_starts_{0} {
  constexpr size_t kLast = std::numeric_limits<uint32_t>::max();
  for (size_t i = 0; i < text_.size() && i < kLast; ++i) {
    const bool lone_return = text_[i] == '\r' && (i + 1 == text_.size() || text_[i + 1] != '\n');
    if (text_[i] == '\n' || lone_return) line_starts_.push_back(static_cast<uint32_t>(i + 1));
  }
}

Source::LineColumn Source::line_column(uint32_t offset) const {
  const auto clamped = static_cast<uint32_t>(std::min<size_t>(offset, text_.size()));
  const auto next = std::upper_bound(line_starts_.begin(), line_starts_.end(), clamped);
  const auto line = static_cast<uint32_t>(next - line_starts_.begin());
  return {line, clamped - line_starts_[line - 1] + 1};
}

std::string_view Source::line(uint32_t number) const {
  if (number == 0 || number > line_starts_.size()) return {};
  const size_t begin = line_starts_[number - 1];
  size_t end = number < line_starts_.size() ? line_starts_[number] : text_.size();
  while (end > begin && (text_[end - 1] == '\n' || text_[end - 1] == '\r')) --end;
  return std::string_view(text_).substr(begin, end - begin);
}

Location join(const Location& first, const Location& last) {
  return {first.source, std::min(first.begin, last.begin), std::max(first.end, last.end)};
}

Diagnostic& Diagnostic::note(std::string text, Location at) {
  notes.push_back({std::move(text), std::move(at)});
  return *this;
}

Diagnostic& Diagnostic::help(std::string text) {
  hint = std::move(text);
  return *this;
}

Diagnostic& Diagnostics::error(std::string id, Location where, std::string message) {
  ++errors_;
  auto& item = items_.emplace_back();
  item.id = std::move(id);
  item.message = std::move(message);
  item.where = std::move(where);
  return item;
}

Diagnostic& Diagnostics::warning(std::string id, Location where, std::string message) {
  auto& item = items_.emplace_back();
  item.severity = Severity::warning;
  item.id = std::move(id);
  item.message = std::move(message);
  item.where = std::move(where);
  return item;
}

Diagnostic& Diagnostics::file_error(std::string id, std::string path,
                                    std::optional<uint64_t> offset, std::string message) {
  auto& item = error(std::move(id), {}, std::move(message));
  item.path = std::move(path);
  item.offset = offset;
  return item;
}

void Diagnostics::append(Diagnostics&& other) {
  errors_ += other.errors_;
  std::move(other.items_.begin(), other.items_.end(), std::back_inserter(items_));
  other.items_.clear();
  other.errors_ = 0;
}

std::string format(const Diagnostic& diagnostic, bool color) {
  const Style& style = color ? kColor : kPlain;
  std::string out{style.bold};
  if (diagnostic.where) {
    out += position_text(diagnostic.where) + ": ";
  } else if (!diagnostic.path.empty()) {
    out += printable(diagnostic.path) + ": ";
    if (diagnostic.offset) out += fmt::format("offset {}: ", *diagnostic.offset);
  }
  const bool is_error = diagnostic.severity == Severity::error;
  out += fmt::format("{}{}{}:{} [{}] {}\n", style.reset, is_error ? style.error : style.warning,
                     is_error ? "error" : "warning", style.reset, diagnostic.id,
                     printable(diagnostic.message));
  if (diagnostic.where) append_excerpt(out, diagnostic.where, style);
  for (const auto& note : diagnostic.notes) {
    out += fmt::format("  {}note:{} {}", style.note, style.reset, printable(note.text));
    if (note.where) out += " at " + position_text(note.where);
    out += '\n';
  }
  if (!diagnostic.hint.empty()) {
    out += fmt::format("  {}hint:{} {}\n", style.note, style.reset, printable(diagnostic.hint));
  }
  return out;
}

std::string format(const Diagnostics& diagnostics, bool color) {
  std::string out;
  for (const auto& item : diagnostics.items()) out += format(item, color);
  return out;
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  if (name.empty() || name.size() > kMaxNameLength) return {};
  const std::string wanted = lower(name);
  std::string best;
  size_t best_distance = std::numeric_limits<size_t>::max();
  for (const auto& candidate : candidates) {
    if (candidate.size() > kMaxNameLength || candidate == name) continue;
    const size_t longest = std::max(name.size(), candidate.size());
    const size_t shortest = std::min(name.size(), candidate.size());
    const size_t limit = std::min<size_t>(longest / 3, 3);
    if (longest - shortest > limit) continue;
    const size_t distance = edit_distance(wanted, lower(candidate));
    if (distance <= limit && distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace nnef
