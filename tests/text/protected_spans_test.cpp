// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/tests/support/cpu_clock.h>
#include <transmute/text/protected_spans.h>

#include <string>
#include <utility>
#include <vector>

namespace transmute {
namespace {

using testing::cpu_seconds_of;
using Texts = std::vector<std::string>;

Texts spans_of(const std::string& text, const IsUnknown& is_unknown = {}) {
  Texts texts;
  for (const ProtectedSpan& span : protected_spans(text, is_unknown))
    if (span.kind != ProtectedKind::invisible) texts.push_back(text.substr(span.begin, span.length));
  return texts;
}

TEST(ProtectedSpans, ArePlaceholdersOfManyProgramsAndLanguages) {
  const std::vector<std::pair<std::string, Texts>> kTexts{
      {"A man holds %s and %1$s beers.", {"%s", "%1$s"}},
      {"%-5.2f of %ld, %'d, %+.1e, %*d, %-*d, %.*s and %-d. %B",
       {"%-5.2f", "%ld", "%'d", "%+.1e", "%*d", "%-*d", "%.*s", "%-d", "%B"}},
      {"JPEG 2000%s, 5%d.", {"%s", "%d"}},
      {"%d%% done, %ds left, %sDo it", {"%d", "%%", "%d", "%s"}},
      {"100%% sure", {"%%"}},
      {"5%d\u00A0files, %name%\u00A0: $HOME… %name%ä $HOMEä", {"%d", "%name%", "$HOME", "%name"}},
      {"I, ______, of .......... (a... b__c)", {"______", ".........."}},
      {"%(name)s has %(count)03d files, %<rate>.1f, %(value)r", {"%(name)s", "%(count)03d", "%<rate>.1f", "%(value)r"}},
      {"50%(about) and 50 %(best)", {}},
      {"Balance at ~a: ~ts.~%File ~s~%", {"~a", "~ts", "~%", "~s", "~%"}},
      {"~%2d, ~%1s", {"%2d", "%1s"}},
      {"about ~5, Save ~As, Reference~s, ~%d", {"%d"}},
      {"%1 of %2: %L3%4", {"%1", "%2", "%L3", "%4"}},
      {"%1 to %10", {"%1", "%10"}},
      {"Fiyatlar %50 arttı, yani %50’si, %100.", {}},
      {"A%20big%20man, %05d, %50$s", {"%20", "%20", "%05d", "%50$s"}},
      {"Moving \"%B\" to '%@', %PRODUCTNAME and %appname%", {"%B", "%@", "%PRODUCTNAME", "%appname%"}},
      {"{0}, {name}, {:.2f}, {x!r} and {}", {"{0}", "{name}", "{:.2f}", "{x!r}", "{}"}},
      {"Hello { name }, { user.name_1 }, {  a} and {b }", {"{ name }", "{ user.name_1 }", "{  a}", "{b }"}},
      {"It has { n , plural , one { # file } other { # files } }.",
       {"{ n , plural , one { # file } other { # files } }"}},
      {"{{ x }} ${user.name} %{count} #{id} $(ARG1) $HOME",
       {"{{ x }}", "${user.name}", "%{count}", "#{id}", "$(ARG1)", "$HOME"}},
      {"You have {n, plural, one {# file} other {# files}}.", {"{n, plural, one {# file} other {# files}}"}},
      {"Use [X0X]this[X12X]: [X], [X1], [1] or [XX]", {"[X0X]", "[X12X]"}},
      {"<%= name %> has {% if x %}{{ n }}{% endif %} files, 3 <% 4",
       {"<%= name %>", "{% if x %}", "{{ n }}", "{% endif %}"}},
      {":user changed the :attribute of ':time_zone' (:id): a:bc, \"a\":bc, :a",
       {":user", ":attribute", ":time_zone", ":id"}},
      {"10&nbsp;kg &#169; &#xA0;", {"&nbsp;", "&#169;", "&#xA0;"}},
      {R"(one\ntwo\t\"three\" \u00e4)", {R"(\n)", R"(\t)", R"(\")", R"(\")", R"(\u00e4)"}},
  };
  for (const auto& [text, spans] : kTexts) EXPECT_EQ(spans_of(text), spans) << text;
}

TEST(ProtectedSpans, ArePlaceholdersWithAnAlignment) {
  for (const std::string placeholder : {"{0:>5}", "{:<10}", "{name:*^10s}", "{n:=+4d}", "{x:>}"})
    EXPECT_EQ(spans_of("A man has " + placeholder + " dogs <b>."), Texts{placeholder});
}

TEST(ProtectedSpans, KnowWhichPlaceholdersStandForTheNextArgument) {
  for (const char* text : {"%s", "%-5.2f", "%*d", "%.*s", "%ld", "%@", "{}", "{:.2f}"})
    EXPECT_EQ(protected_spans(text).at(0).kind, ProtectedKind::argument) << text;
  for (const char* text : {"%1$s", "%(name)s", "%<rate>.1f", "%1", "%%", "%NAME", "{0}", "{name}", "{{ x }}", "${x}"})
    EXPECT_EQ(protected_spans(text).at(0).kind, ProtectedKind::placeholder) << text;
}

TEST(ProtectedSpans, AreMarkersOfListsHeadingsAndSpeech) {
  const std::vector<std::pair<std::string, std::string>> kTexts{
      {"- milk", "-"},           {"  * milk", "*"},     {"• milk", "•"},    {"— No, he said", "—"},
      {"+ added", "+"},          {"## Title", "##"},    {"> quoted", ">"},  {"2) milk", "2)"},
      {"(a) milk", "(a)"},       {"(12) milk", "(12)"}, {"b)\tmilk", "b)"}, {"9.6.14. Milk", "9.6.14."},
      {"B.2.3. Milk", "B.2.3."},
  };
  for (const auto& [text, marker] : kTexts) {
    EXPECT_EQ(spans_of(text), Texts{marker}) << text;
    EXPECT_EQ(protected_spans(text).at(0).kind, ProtectedKind::marker) << text;
  }
  for (const char* text : {"-5 degrees", "1. May", "A man - a woman", "(a", "a) ", "- ", "ab) milk", "2025) milk",
                           "3.10. Milk", "1.2.3. ", "U.S. milk", "I saw", "*** milk", "--", "(see it)", "*bold* text"})
    EXPECT_EQ(spans_of(text), Texts{}) << text;
}

TEST(ProtectedSpans, AreAcceleratorsOfMenus) {
  for (const char* text : {"&File", "Save &As", "E&xit", "_File", "Save _As…", "File (&F)"})
    EXPECT_EQ(spans_of(text).size(), 1U) << text;
  EXPECT_EQ(spans_of("Save &As").front(), "&");
}

TEST(ProtectedSpans, AreTheEllipsesAfterOneWord) {
  for (const char* text : {"Open...", "E-mail...", "Öffnen...", "저장..."})
    EXPECT_EQ(spans_of(text), Texts{"..."}) << text;
  EXPECT_EQ(spans_of("_Open…"), (Texts{"_", "…"}));
  for (const char* text :
       {"Save as...", "...", "Open... ", "Open....", "(Open...", "等等...", "你好…", "Well... no..."})
    EXPECT_EQ(spans_of(text), Texts{}) << text;
}

TEST(ProtectedSpans, AreAddressesAndPaths) {
  const std::vector<std::pair<std::string, Texts>> kTexts{
      {"See https://example.org/a?b=c&d=%20e#f. Or (http://a.b/c_(d)).",
       {"https://example.org/a?b=c&d=%20e#f", "http://a.b/c_(d)"}},
      {"From s3://bucket/a.gz, git+ssh://git@example.com/a or 3://a",
       {"s3://bucket/a.gz", "git+ssh://git@example.com/a"}},
      {"Write to jane.doe@mail.example.org, or visit www.example.org!",
       {"jane.doe@mail.example.org", "www.example.org"}},
      {"Ask @jane, (@Override) or a@b", {"@jane", "@Override"}},
      {"See @fig-red-house, @eq:sum.1: and @tbl-small_2. And @jane- or @jane...",
       {"@fig-red-house", "@eq:sum.1", "@tbl-small_2", "@jane", "@jane"}},
      {"Hello @jane:see this", {"@jane"}},
      {"#music, (#COVID-19) and #Überraschung_2! #東京 #5 C# #", {"#music", "#COVID-19", "#Überraschung_2", "#東京"}},
      {"By @jane:https://a.org/b and 3 @5-6 or @-a", {"@jane", "https://a.org/b"}},
      {"github.com/a/b, example.com and mailto:x@y.org", {"github.com/a/b", "example.com", "mailto:x@y.org"}},
      {"VISIT WWW.A.B OR EXAMPLE.COM! The End.Info follows.", {"WWW.A.B", "EXAMPLE.COM"}},
      {"In /usr/lib/x.so, ~/notes, ../up/one and src/main.cpp.",
       {"/usr/lib/x.so", "~/notes", "../up/one", "src/main.cpp"}},
      {R"(Open C:\Users\me\a.txt or \\server\share.)", {R"(C:\Users\me\a.txt)", R"(\\server\share)"}},
  };
  for (const auto& [text, spans] : kTexts) EXPECT_EQ(spans_of(text), spans) << text;
}

TEST(ProtectedSpans, AreAddressesBesideTheMarksOfAnyScript) {
  for (const char* before :
       {"“", "« ", "—", "（", "bike :\u00A0", "\u202F", "E-mail:", "看", "です", "**", "&quot;", "&nbsp;"})
    for (const char* address : {"https://a.org/b?c=d", "info@example.com", "example.com", "src/main.cpp"})
      for (const char* after : {"”", "’", " »", "。一个", "、", "）", "！", "\u00A0is", "&quot; is", "&gt;", "&nbsp;is",
                                "&#8217;s", "، و", "؟ ", "। ", "…", "—", ".\u200F", ""}) {
        const std::string text = std::string(before) + address + after;
        EXPECT_EQ(spans_of(text).size(), 1U + (before[0] == '&') + (after[0] == '&')) << text;
        EXPECT_EQ(spans_of(text).at(before[0] == '&'), address) << text;
      }
  EXPECT_EQ(spans_of("访问example.com了解"), Texts{"example.com"});
  EXPECT_EQ(spans_of("请访问https://example.com/a?b=c了解更多。"), Texts{"https://example.com/a?b=c"});
  EXPECT_EQ(spans_of("ดูwww.example.com/aได้"), Texts{"www.example.com/a"});
  EXPECT_EQ(spans_of("参见 https://zh.wikipedia.org/wiki/汉字 了解"), Texts{"https://zh.wikipedia.org/wiki/汉字"});
  EXPECT_EQ(spans_of("See https://a.org/L’Équipe, 'C:\\Temp' or *.sun.com."),
            (Texts{"https://a.org/L’Équipe", "C:\\Temp"}));
  EXPECT_EQ(spans_of("https://a.org/?b=c&amp;d=e&#038;f"), Texts{"https://a.org/?b=c&amp;d=e&#038;f"});
  EXPECT_EQ(spans_of("https://ja.wikipedia.org/wiki/ジョン・スミス"),
            Texts{"https://ja.wikipedia.org/wiki/ジョン・スミス"});
}

TEST(ProtectedSpans, AreAddressesOfManyCountries) {
  const std::vector<std::pair<std::string, Texts>> kTexts{
      {"Visit exemplo.com.br, usp.br or portal.gov.it for more.", {"exemplo.com.br", "usp.br", "portal.gov.it"}},
      {"Our website is sony.jp", {"sony.jp"}},
      {"Go to youtu.be. Or amzn.to (new), t.co/a and nrk.no/b now", {"youtu.be", "amzn.to", "t.co/a", "nrk.no/b"}},
      {"Order at shop.store or green-tea.blog today!", {"shop.store", "green-tea.blog"}},
      {"Write to joão@exemplo.pt or zoe\u0308@a.org.", {"joão@exemplo.pt", "zoe\u0308@a.org"}},
  };
  for (const auto& [text, spans] : kTexts) EXPECT_EQ(spans_of(text), spans) << text;
  for (const char* text :
       {"I have finished.in the end.so we went home.it was late.to me", "See you at 5.pm or 7 a.m.", "JJJJ.MM.TT",
        "the i.e. and e.g.in it, z.B.am Ende", "Cheguei tarde.eu vou", "Co.KG and End.Be"})
    EXPECT_EQ(spans_of(text), Texts{}) << text;
}

TEST(ProtectedSpans, AreIdentifiers) {
  for (const std::string identifier :
       {"593ad699fc1f7cd5bb2e35cbf0f19c557067cbbe", "8c03ab4384", "3f:5e:4e:33:aa:fa", "01-80-C2-00-00-03",
        "28c6:452a:c651:e6c3:979e:a222:73ee:05ed", "fe80::1", "47754f9b-625f-cafe-596f-3d8540950a03",
        "TUF4V-0EQEU-BLUOU-QQT50-ASKSD", "bPCbk5Z4VrZQ", "1H1D4NHR71MJRGZX9", "julhFTWH4Lu/jeUH2OHjEj7e5vdVtAVN",
        "YW55IGJpbmFyeSBkYXRhCg==", "X155197172M", "DE04567632923871972084", "3280643531926694921434", "0x80000007"})
    for (const char* before : {"", "is ", "(", "key=", "#", "查看"})
      for (const char* after : {"", ".", ", and", ")", " is", "的"}) {
        const std::string text = before + identifier + after;
        EXPECT_EQ(spans_of(text), Texts{identifier}) << text;
        EXPECT_EQ(protected_spans(text).at(0).kind, ProtectedKind::identifier) << text;
      }
  EXPECT_EQ(spans_of("commit:593ad699fc1f-dirty of token/8c03ab4384"), (Texts{"593ad699fc1f", "8c03ab4384"}));
  for (const std::string code : {"my_var",
                                 "MAX_SIZE",
                                 "_private_name",
                                 "__init__",
                                 "x_1",
                                 "self.my_var",
                                 "os.path.join()",
                                 "std::move()",
                                 "app.get(...)",
                                 "f()",
                                 "`make test && make`",
                                 "``a`b``",
                                 "`x`",
                                 ":meth:`~object.__init__`",
                                 ":py:mod:`os`",
                                 "Finance::Quote",
                                 "a::b::c_d",
                                 "printf(3)",
                                 "systemd.resource-control(5)",
                                 "g++(1)",
                                 "_exit(2)",
                                 "ssl(3ossl)",
                                 "=SUM(A1:A3; \")\")/B2",
                                 "=F.DIST(0.8; (8))"})
    for (const char* before : {"", "is ", "(", "看"})
      for (const char* after : {"", ".", ", and", ")", " is", "的"})
        EXPECT_EQ(spans_of(before + code + after), Texts{code}) << before << code << after;
  EXPECT_EQ(spans_of("-c, --class, '--to-x' (--all) or -b/--both, --unit=NAME, --by=, `--tree', --at=a-b=c.d."),
            (Texts{"--class", "--to-x", "--all", "--unit=NAME", "--by", "--tree", "--at=a-b=c.d"}));
  EXPECT_EQ(spans_of("He--no, --so-- we--left --Yes, --a -- b ---no"), Texts{});
  EXPECT_EQ(spans_of("See :ref:`the page <my_page>` or `this page`_."), Texts{":ref:"});
  EXPECT_EQ(spans_of("As in this example::"), Texts{":"});
  EXPECT_EQ(spans_of("F.DIST(Number; Degrees [; Array]), {SUMX2PY2(a) and COLOR(0;0)"),
            (Texts{"F.DIST", "SUMX2PY2", "COLOR"}));
  EXPECT_EQ(spans_of("WHO(World Health Organization)"), Texts{});
  EXPECT_EQ(spans_of("(\"=SUM(A1)\" and **=SUM(A1)**)"), (Texts{"=SUM(A1)", "=SUM(A1)"}));
  EXPECT_EQ(spans_of("FILE(S) OR PLACE(WEST SIDE), NOTE(s), Sum(Number), A(1.5), = SUM, x2(a), f(2), no (3)"), Texts{});
  EXPECT_EQ(spans_of("self.my_var->other, a_b=yes. a_b= or a_b = no"),
            (Texts{"self.my_var->other", "a_b=yes", "a_b", "a_b"}));
  EXPECT_EQ(spans_of("#话题#后面的文字 #love#happy"), (Texts{"#话题#", "#love", "#happy"}));
  for (const char* text : {"`foo' and `bar'",
                           "l`eau et d`air",
                           "`",
                           "go(es), f(x) and word(...)",
                           "COVID-19",
                           "mp3-player",
                           "2020-01-01T10:00:00Z",
                           "1990s",
                           "A4-sized",
                           "24-hour",
                           "3D-printed",
                           "F-16",
                           "4x4",
                           "B2B-Marketing",
                           "MP3-Player",
                           "SARS-CoV-2-Virus",
                           "ext2/ext3/ext4",
                           "IPv4/IPv6-Adressen",
                           "1st/2nd/3rd/4th",
                           "11th/12th/13th/14th",
                           "1950s/1960s/1970s/1980s",
                           "14h30min",
                           "14h30-16h30",
                           "10:30am-12:30pm/2:30pm-4:30pm",
                           "10am-12pm",
                           "12:30:15",
                           "peer2peer",
                           "added1",
                           "1000000e",
                           "978-3-16-148410-0",
                           "0,12345678901234567890",
                           "3.14159265358979323846",
                           "12345678901234567,5",
                           "20200101120000",
                           "x1y2z3w4ä"})
    EXPECT_EQ(spans_of(text), Texts{}) << text;
}

TEST(ProtectedSpans, AreCodeBetweenBackticks) {
  for (const std::string code : {"`code`", "`git commit -m {0}`", "``make clean``", "`*`", "``a`b``", "`print('x')`"})
    for (const char* before : {"", "Run ", "(", "**"})
      for (const char* after : {"", ".", " now", ")"}) EXPECT_EQ(spans_of(before + code + after), Texts{code}) << code;
  for (const char* text :
       {"the option `this' of `that'", "`-a' or `-b'", "`a' です。`b' です。", "``-a''(``-b'')",
        "``This'' and ``that''", "See `our site`_ and this:`that page`.", "It`s John`s", "` a `", "```", "`a``", "`a"})
    EXPECT_EQ(spans_of(text), Texts{}) << text;
}

TEST(ProtectedSpans, AreMarksInQuotationMarks) {
  EXPECT_EQ(spans_of("Names with \".\" or '/' (“<=”, ‘*’) and \"…\", not \"-\"."),
            (Texts{"\".\"", "'/'", "“<=”", "‘*’", "\"…\"", "\"-\""}));
  EXPECT_EQ(spans_of("Insert \"{}\" or '%%' or \"%\"."), (Texts{"{}", "%%", "\"%\""}));
  for (const char* text :
       {"\"a\",\"b\"", "\"No\", \"yes\" ? \"or\"", "\"\"", "a \"?!a\"", "a '.'s", "5\".\"", "a \", \" b", "(\"a!\")"})
    EXPECT_EQ(spans_of(text), Texts{}) << text;
}

TEST(ProtectedSpans, ArePatternsOfDates) {
  for (const std::string pattern : {"YYYY-MM-DD", "dd/MM/yyyy", "HH:mm:ss", "DD.MM", "HH:MM[:ss[.uuuuuu]][TZ]"})
    EXPECT_EQ(spans_of("Enter a date (" + pattern + ")."), Texts{pattern});
  for (const char* text : {"DD", "mm-hmm", "MM/A", "yyyyy-mm", "ss.mmx", "HH:", "DD/MM/AAAA", "dd-mm-aa"})
    EXPECT_EQ(spans_of(text), Texts{}) << text;
}

TEST(ProtectedSpans, ArePathsOfWindows) {
  const std::vector<std::pair<std::string, Texts>> kTexts{
      {R"(Open C:\Program Files\App\config.ini first.)", {R"(C:\Program Files\App\config.ini)"}},
      {R"(See C:\Documents and Settings\me, then D:\new.)", {R"(C:\Documents and Settings\me)", R"(D:\new)"}},
      {R"(The "C:\Program Files (x86)\Steam\old games" folder)", {R"(C:\Program Files (x86)\Steam\old games)"}},
      {R"(C:\My Pictures\new house\front door.jpg is large.)", {R"(C:\My Pictures\new house\front door.jpg)"}},
      {R"(Copy C:\a.txt to \\server\my share\b or E:\x y)", {R"(C:\a.txt)", R"(\\server\my share\b)", R"(E:\x)"}},
      {R"(Say "C:\Temp is full." and “C:\old files”)", {R"(C:\Temp)", R"(C:\old files)"}},
      {R"(C:\Temp contains many more files than D:\x)", {R"(C:\Temp)", R"(D:\x)"}},
      {R"(Documents\reports\new.txt, backup\tables\2024 or src\main.cpp.)",
       {R"(Documents\reports\new.txt)", R"(backup\tables\2024)", R"(src\main.cpp)"}},
      {R"(.\run.ps1 in ..\docs or Größe\maße\x)", {R"(.\run.ps1)", R"(..\docs)", R"(Größe\maße\x)"}},
      {R"(First line\nSecond line\tThird\nFourth\tFifth)", {R"(\n)", R"(\t)", R"(\n)", R"(\t)"}},
      {R"(missing\nfile.txt, a\b, AC\DC)", {R"(\n)"}},
  };
  for (const auto& [text, spans] : kTexts) EXPECT_EQ(spans_of(text), spans) << text;
}

TEST(ProtectedSpans, AreEmoticons) {
  for (const std::string emoticon :
       {":)", ":-)", ";)", ":D", ":P", ":(", ":'(", "8-)", "=D", ":/", ":-3", ":)))", ":o", ">:("})
    for (const char* before : {"", "Great job ", "Yes! ", "Done.", "谢谢"})
      for (const char* after : {"", " See you", "!", ") ", "。"}) {
        if (emoticon.back() == after[0]) continue;
        EXPECT_EQ(spans_of(before + emoticon + after), Texts{emoticon}) << before + emoticon + after;
        EXPECT_EQ(protected_spans(before + emoticon + after).at(0).kind, ProtectedKind::emoji);
      }
  EXPECT_EQ(spans_of("(Thanks :)) :D :)"), (Texts{":))", ":D", ":)"}));
  for (const char* text : {"see 8) and (see 8)", "the semicolon (;)", "(separated by ;) and (> =)", "f(x):(y)", "10:30",
                           "Note:", "a =/ b", "x :Dog", "page :3", "| :-| a", "std::P", "(a;b;)", "10 :1"})
    EXPECT_EQ(spans_of(text), Texts{}) << text;
}

TEST(ProtectedSpans, AreEmojiWithTheirModifiers) {
  EXPECT_EQ(spans_of("A man 😀 is riding ❤️ 👍🏽👨‍👩‍👧 🇩🇪 3️⃣ 3 #"),
            (Texts{"😀", "❤️", "👍🏽", "👨‍👩‍👧", "🇩🇪", "3️⃣"}));
}

TEST(ProtectedSpans, AreWordsOfCharactersThatTheVocabularyLacks) {
  const auto is_unknown = [](int32_t c) { return c == 0x159 || c == 0x65E5 || c == 0x672C || c == 0x2014 || c == '@'; };
  EXPECT_EQ(spans_of("Herr Dvořák — wohnt in 日本国 @ %s", is_unknown), (Texts{"Dvořák", "—", "日本", "@", "%s"}));
  EXPECT_EQ(spans_of("%sř ř", is_unknown), (Texts{"%s", "ř", "ř"}));
  EXPECT_EQ(spans_of("One—two——Dvořák—three 日本four", is_unknown), (Texts{"—", "—", "—", "Dvořák", "—", "日本"}));
  EXPECT_EQ(spans_of("10⁻³ m, x⁻", [](int32_t c) { return c == 0x207B; }), (Texts{"10⁻³", "x⁻"}));
}

TEST(ProtectedSpans, AreInvisibleCharactersThatTheVocabularyLacks) {
  const std::string text = "\u00ADin\u00ADfor\u00ADma\u200Btion %\u00ADs Dvo\u00ADřák\u00AD a\u00AD";
  const auto is_unknown = [](int32_t c) { return c == 0x159 || c == 0xAD; };
  std::vector<std::pair<std::string, ProtectedKind>> found;
  for (const ProtectedSpan& span : protected_spans(text, is_unknown))
    found.emplace_back(text.substr(span.begin, span.length), span.kind);
  const std::pair<std::string, ProtectedKind> invisible{"\u00AD", ProtectedKind::invisible};
  const std::pair<std::string, ProtectedKind> word{"Dvo\u00ADřák\u00AD", ProtectedKind::unknown};
  EXPECT_EQ(found, (decltype(found){invisible, invisible, invisible, invisible, word, invisible}));
}

TEST(ProtectedSpans, AreWordsOfCapitalsThatTheVocabularyLacksWhereTheyAreNotDueToTheirPlace) {
  const auto is_unknown = [](int32_t c) { return c == 0xCA || c == 0xCB || c == 0xEB; };  // it has ê, but no Ê, Ë or ë
  EXPECT_EQ(spans_of("The man Êcole is ë", is_unknown), Texts{"ë"});
  EXPECT_EQ(spans_of("THE MAN ÊCOLE IS Ë", is_unknown), Texts{"Ë"});
  EXPECT_EQ(spans_of("{name}: \"Êcole E\u0302tre\"", is_unknown), Texts{"{name}"});
}

TEST(ProtectedSpans, AreNotesNamesOfEmojiAndLines) {
  EXPECT_EQ(spans_of("In 1998.¹ “Yes”²³ It ⁴ m² (a)² ½"), (Texts{"¹", "²³", "⁴"}));
  EXPECT_EQ(spans_of("¹ See ¹⁴C"), Texts{"¹"});
  EXPECT_EQ(spans_of("I :heart: it :+1: at 12:30:15 a:b:c :: d"), (Texts{":heart:", ":+1:"}));
  EXPECT_EQ(spans_of(":a-b-16:\u00A0Start “:x:” ä:no: :no:ä"), (Texts{":a-b-16:", ":x:"}));
  EXPECT_EQ(spans_of("One ----- two ==== three -- four"), (Texts{"-----", "===="}));
}

TEST(ProtectedSpans, AreKeysThatAProgramAsksFor) {
  EXPECT_EQ(spans_of("Stage this [y,n,q,a,d%s,/,?]? Or [y/n/A]? [y|n|?]"),
            (Texts{"[y,n,q,a,d%s,/,?]", "[y/n/A]", "[y|n|?]"}));
  EXPECT_EQ(spans_of("Really [y/N], (a,b,c), [1,2,3], [a,b/c], [ab,c,d], [a,b,c"), Texts{});
}

TEST(ProtectedSpans, HaveTheMarksOfTheirLetters) {
  const auto is_unknown = [](int32_t c) { return c == 0xF1 || c == 0x336; };
  EXPECT_EQ(spans_of("Mr. Mun\u0303oz met Zoe\u0308.", is_unknown), Texts{"Mun\u0303oz"});
  std::string marks = "a";
  for (int i = 0; i < 200'000; ++i) marks += "\u0301";
  EXPECT_EQ(spans_of(marks, is_unknown), Texts{}) << "in linear time";
}

TEST(ProtectedSpans, DropMarksOfDirection) {
  const std::string text = "Ali\u200F, b";
  const std::vector<ProtectedSpan> spans = protected_spans(text);
  ASSERT_EQ(spans.size(), 1);
  EXPECT_EQ(spans[0].kind, ProtectedKind::invisible);
  EXPECT_EQ(text.substr(spans[0].begin, spans[0].length), "\u200F");
}

TEST(ProtectedSpans, AreNotOrdinaryText) {
  for (const char* text : {"50% of them",
                           "5 % s",
                           "100% sure",
                           "100%ig",
                           "10 %, say",
                           "50 %-Chance, 3 %-share",
                           "AT&T and R&D",
                           "Q&A; rock & roll",
                           "rock&roll",
                           "and/or",
                           "he/she and his/her",
                           "3:1",
                           "1/2",
                           "24/7",
                           "_init__ and Save_as",
                           "_so_ nice",
                           "$5 off, $ 10 or 5$",
                           "#1",
                           "U.S. and e.g. this",
                           "Mr. Smith",
                           "a { b c } d",
                           "{ Yes. } { ... } { }",
                           "{a b}",
                           "{",
                           "3 < 4 > 2",
                           "TV / radio",
                           "km/h",
                           "it's 5 o'clock",
                           "wait... what?!",
                           "@ home",
                           "2.5",
                           "1,000.50",
                           "see (a) and [b]",
                           "naïve café, 日本語",
                           "C: drive",
                           "a\\b",
                           "© 2020 and ™",
                           "I/O",
                           "end.Next"})
    EXPECT_EQ(spans_of(text), Texts{}) << text;
}

// Each would take minutes if a sign were read up to the end of the text.
TEST(ProtectedSpans, OfLongTextsAreFoundAtOnce) {
  for (const std::string part :
       {"{a,plural,", "%(a", "_a",    "a_",    "&a",       "http://(", "((",   "{{",  "${",  "/a",   "\\\\a",
        "a@",         "'a",  "))",    "%1",    "👍🏽", ":a",       "“a",   "看a", "*/",  "&aa;", "`a b",
        ":a`",        "#",   "|#a",   "|a_b.", "!/a/b(",   "a:/",      "@aa:", "{ a", "a1-", "#a-",  "<%",
        "{%",         " `a", " ``a`", "`",     "YY-",      "a->",      "=A(",  "a::", "AA(", "=A\"", "a("}) {
    std::string text;
    while (text.size() < 200'000) text += part;
    EXPECT_LT(cpu_seconds_of([&] { protected_spans(text); }), 2) << part;
  }
}

}  // namespace
}  // namespace transmute
