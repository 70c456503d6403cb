// SPDX-License-Identifier: Apache-2.0
#include <transmute/common/html.h>

#include <spdlog/fmt/fmt.h>

namespace transmute {
inline namespace v0 {

namespace {

constexpr const char* kReportStyle = R"(
:root { color-scheme: light dark; --back: #fff; --text: #1c2024; --soft: #60646c; --line: #dfe1e6; --card: #f7f8fa;
  --c0: #0b68cb; --c1: #c4501b; --c2: #1b7f3b; }
@media (prefers-color-scheme: dark) { :root { --back: #121417; --text: #e6e8eb; --soft: #9aa0a8; --line: #30353c;
  --card: #1a1d21; --c0: #6cb2ff; --c1: #ff9a62; --c2: #63cf86; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 76rem; background: var(--back); color: var(--text);
  font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.4rem; margin: .2rem 0 .8rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 1.6rem 0 .6rem; }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 9rem), 1fr)); gap: .5rem 1rem; margin: 0; }
dt { color: var(--soft); font-size: .82rem; } dd { margin: 0; overflow-wrap: anywhere; }
.problem { margin: 1rem 0 0; padding: .5rem .8rem; border-left: 4px solid var(--c1); background: var(--card); }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 25rem), 1fr)); gap: 1rem; }
figure { margin: 0; padding: .7rem; background: var(--card); border: 1px solid var(--line); border-radius: 6px; min-width: 0; }
figcaption { display: flex; flex-wrap: wrap; gap: .1rem .9rem; font-size: .86rem; } figcaption span { color: var(--soft); }
figcaption b { color: var(--text); } i { display: inline-block; width: .7em; height: .7em; margin-right: .3em; border-radius: 50%; }
svg { display: block; width: 100%; height: auto; margin-top: .4rem; } svg text { fill: var(--soft); font-size: 12px; }
@media (max-width: 30rem) { svg text { font-size: 16px; } }
.grid { stroke: var(--line); } path { fill: none; stroke-width: 1.8; stroke-linejoin: round; }
path.c0 { stroke: var(--c0); } path.c1 { stroke: var(--c1); } path.c2 { stroke: var(--c2); }
circle.c0 { fill: var(--c0); } circle.c1 { fill: var(--c1); } circle.c2 { fill: var(--c2); }
i.c0 { background: var(--c0); } i.c1 { background: var(--c1); } i.c2 { background: var(--c2); }
table { width: 100%; border-collapse: collapse; margin: 0 0 .9rem; background: var(--card); border: 1px solid var(--line); }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; border-top: 1px solid var(--line); }
th { width: 7rem; font-weight: normal; color: var(--soft); white-space: nowrap; } td { overflow-wrap: anywhere; }
pre { overflow-x: auto; padding: .7rem; background: var(--card); border: 1px solid var(--line); border-radius: 6px; font-size: .84rem; }
)";

}  // namespace

std::string report_page(const std::string& title, const std::string& body) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{0}</title>\n"
      "<style>{1}</style></head>\n<body><h1>{0}</h1>\n{2}</body></html>\n",
      html_escaped(title), kReportStyle, body);
}

}  // namespace v0
}  // namespace transmute
