// The page of bench --profile FILE.html: bars for the kernels, the slowest first and in the order
// of execution. One file, no script, nothing from a network.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "profile.h"

namespace nnefc {
namespace {

constexpr const char* kStyle = R"(
body { font: 14px/1.4 system-ui, sans-serif; margin: 2em auto; max-width: 76em; padding: 0 1em; color: #222; }
h1 { font-size: 1.4em; } h2 { font-size: 1.1em; }
input { position: absolute; opacity: 0; }
label { display: inline-block; padding: .3em 1em; border: 1px solid #999; cursor: pointer; }
input:checked + label { background: #246; color: #fff; } input:focus-visible + label { outline: 2px solid #e80; }
.list { display: none; margin-top: 1em; }
#by-time:checked ~ .by-time, #in-order:checked ~ .in-order { display: block; }
.row { display: grid; grid-template-columns: 5.5em 1fr; gap: .2em .8em; border-top: 1px solid #ddd; padding: .35em 0; }
.ms { text-align: right; font-variant-numeric: tabular-nums; }
.bar { background: #eee; height: 1.1em; }
.fill { background: #48a; height: 100%; } .peak { background: #e80; height: 100%; }
.what { grid-column: 2; } .where { color: #666; } code { font-size: .95em; }
@media (prefers-color-scheme: dark) {
  body { background: #181818; color: #ddd; } .bar { background: #333; } .row { border-color: #444; } .where { color: #999; }
}
)";

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

/// The bar is as long as the time is of the longest; its dark part, as the row is of the peak.
std::string row_html(const ProfileRow& row, double longest, const Profile& profile) {
  const double length = longest > 0 ? 100 * row.milliseconds / longest : 0;
  const double of_peak =
      profile.peak_gflops > 0 ? std::min(100.0, 100 * row.gflops() / profile.peak_gflops) : 0;
  const double of_time =
      profile.milliseconds > 0 ? 100 * row.milliseconds / profile.milliseconds : 0;
  return fmt::format(
      "<div class=row><div class=ms>{:.3f} ms</div>"
      "<div class=bar><div class=fill style=\"width:{:.2f}%\"><div class=peak "
      "style=\"width:{:.1f}%\"></div></div></div>"
      "<div class=what><code>{}</code>{}: {:.1f} % of the time, {:.1f} GFLOP/s ({:.0f} % of the "
      "peak), {:.2f} MB at {:.1f} GB/s<br>{} <span class=where>{}</span></div></div>\n",
      row.milliseconds, length, of_peak, escaped(row.kernel),
      row.calls > 1 ? fmt::format(", {} calls", row.calls) : "", of_time, row.gflops(), of_peak,
      row.bytes * 1e-6, row.gigabytes(),
      escaped(fmt::format("{}", fmt::join(row.operations, ", "))),
      escaped(fmt::format("{}", fmt::join(row.sources, " "))));
}

std::string list_html(const char* name, const std::vector<ProfileRow>& rows,
                      const Profile& profile) {
  double longest = 0;
  for (const ProfileRow& row : rows) longest = std::max(longest, row.milliseconds);
  std::string html = fmt::format("<div class=\"list {}\">\n", name);
  for (const ProfileRow& row : rows) html += row_html(row, longest, profile);
  return html + "</div>\n";
}

}  // namespace

std::string profile_page(const Profile& profile, const std::string& model) {
  return fmt::format(
             "<!doctype html>\n<html lang=en><head><meta charset=utf-8>"
             "<meta name=viewport content=\"width=device-width\"><title>{0}</title>"
             "<style>{1}</style></head><body>\n<h1>{0}: {2:.3f} ms in {3} calls of {4} "
             "kernels</h1>\n"
             "<p>Medians of runs with each call timed. A bar is as long as its time; its orange "
             "part "
             "is the share of the machine's peak, {5:.0f} GFLOP/s of float32 measured in registers "
             "on "
             "as many threads.</p>\n",
             escaped(model), kStyle, profile.milliseconds, profile.calls.size(),
             profile.kernels.size(), profile.peak_gflops) +
         "<input type=radio name=view id=by-time checked><label for=by-time>the slowest kernels "
         "first</label><input type=radio name=view id=in-order><label for=in-order>calls in order"
         "</label>\n" +
         list_html("by-time", profile.kernels, profile) +
         list_html("in-order", profile.calls, profile) + "</body></html>\n";
}

}  // namespace nnefc
