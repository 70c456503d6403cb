// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/tests/support/cpu_clock.h>
#include <transmute/text/aligned_words.h>
#include <transmute/text/inline_tags.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <random>
#include <set>
#include <utility>

namespace transmute {
namespace {

using testing::cpu_seconds_of;

// The words of a text as tokens.
std::vector<ByteSpan> words_of(const std::string& text) {
  std::vector<ByteSpan> words;
  for (size_t begin = 0; begin < text.size();) {
    const size_t word = text.find_first_not_of(' ', begin);
    if (word == std::string::npos) break;
    const size_t end = std::min(text.find(' ', word), text.size());
    words.emplace_back(begin, end);  // with the space before it, as SentencePiece has it
    begin = end;
  }
  return words;
}

// Restores tags where target word t is the translation of source word links[t].
std::string restored(const std::string& source, const std::string& target, const std::vector<size_t>& links) {
  const TaggedText text(source);
  const auto source_words = words_of(text.plain());
  std::vector<std::vector<float>> alignment;
  for (const size_t link : links) {
    alignment.emplace_back(source_words.size(), 0.1F / static_cast<float>(source_words.size()));
    alignment.back()[link] += 0.9F;
  }
  return text.restore(target, source_words, words_of(target), alignment);
}

TEST(InlineTags, MarksComeBackWithinTokensWithOtherMarks) {
  const auto all = [](const ProtectedSpan&) { return true; };
  const auto is_unknown = [](int32_t c) { return c == U'£' || c == U'–'; };
  const std::string text = "Pay £5–£10";
  const TaggedText tagged(text, tags_and_spans(text, false, all, is_unknown));
  ASSERT_EQ(tagged.plain(), "Pay 5-10");
  EXPECT_EQ(tagged.restore("Pague 5–10", {{0, 3}, {3, 5}, {5, 8}}, {{0, 5}, {5, 7}, {7, 12}},
                           {{0.9F, 0.1F, 0}, {0, 0.9F, 0.1F}, {0, 0.1F, 0.9F}}),
            "Pague £5–£10");
  const std::string thousands = "£4k–£5k";
  EXPECT_EQ(TaggedText(thousands, tags_and_spans(thousands, false, all, is_unknown))
                .restore("4k–5k", {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}}, {{0, 1}, {1, 2}, {2, 5}, {5, 6}, {6, 7}},
                         {{0.9F, 0.1F, 0, 0, 0},
                          {0.1F, 0.9F, 0, 0, 0},
                          {0, 0.1F, 0.9F, 0, 0},
                          {0, 0, 0, 0.9F, 0.1F},
                          {0, 0, 0, 0.1F, 0.9F}}),
            "£4k–£5k");
}

TEST(InlineTags, OfEmojiLeaveNoSpaceBeforeAMark) {
  const auto tagged = [](const std::string& text) {
    return TaggedText(text, tags_and_spans(text, false, [](const ProtectedSpan&) { return true; }, {}));
  };
  EXPECT_EQ(tagged("Great 👍!").plain(), "Great!");
  EXPECT_EQ(tagged("Great 👍!").restore("Grande!", {{0, 5}, {5, 6}}, {{0, 6}, {6, 7}}, {{0.9F, 0.1F}, {0.1F, 0.9F}}),
            "Grande 👍!");
  EXPECT_EQ(tagged("(Great 👍) 👍 🌍!").plain(), "(Great) !");
  EXPECT_EQ(tagged("Oh 👍 !").plain(), "Oh  !") << "as in French";
  EXPECT_EQ(tagged("Oh👍! 👍").plain(), "Oh! ");
  const auto is_unknown = [](int32_t c) { return c == '#' || c == '<'; };
  const std::string symbols = "the #, the <, and";
  EXPECT_EQ(TaggedText(symbols, tags_and_spans(
                                    symbols, false, [](const ProtectedSpan&) { return true; }, is_unknown))
                .plain(),
            "the , the , and");
}

TEST(InlineTags, AreMarksOfEmphasizedWords) {
  const auto tagged = [](const std::string& text) {
    return TaggedText(text, tags_and_spans(text, false, [](const ProtectedSpan&) { return true; }, {}));
  };
  EXPECT_EQ(tagged("It is _very_ *old*, (**so** it is) and _“my way”_--_Drill._").plain(),
            "It is very old, (so it is) and “my way”--Drill.");
  EXPECT_EQ(tagged("__Why this__: in __1,000 commits__").plain(), "Why this: in 1,000 commits");
  EXPECT_EQ(tagged("an _order_ is")
                .restore("uma ordem é", {{0, 2}, {2, 8}, {8, 11}}, {{0, 3}, {3, 9}, {9, 12}},
                         {{0.9F, 0.1F, 0}, {0, 1, 0}, {0, 0, 1}}),
            "uma _ordem_ é");
  for (const std::string text : {"2*3*4", "*args and **kwargs", "price* and tax*", "a * b * c", "*.c, *.h", "one* two*",
                                 "*a = b*", "***no***", "*two **three*", "_ a_", "*Required", "\\*a\\*"})
    EXPECT_FALSE(tagged(text).has_tags()) << text;
  const auto is_emphasis = [](const ProtectedSpan& span) { return span.kind == ProtectedKind::emphasis; };
  EXPECT_TRUE(tags_and_spans("a __name__, (__FILE__, __LINE__)", false, is_emphasis, {}).empty());
}

TEST(InlineTags, KeysOfOptionsComeIntoTheWordsThatTranslateTheirs) {
  const auto tagged = [](const std::string& text) {
    return TaggedText(text, tags_and_spans(text, true, [](const ProtectedSpan&) { return true; }, {}));
  };
  const auto restored = [&](const std::string& source, const std::string& target, const std::vector<size_t>& links) {
    const TaggedText text = tagged(source);
    std::vector<std::vector<float>> alignment;
    for (const size_t link : links) {
      alignment.emplace_back(words_of(text.plain()).size(), 0);
      alignment.back()[link] = 1;
    }
    return text.restore(target, words_of(text.plain()), words_of(target), alignment);
  };
  EXPECT_EQ(tagged("[c]reate, E[x]tract (e[xp]i[r]e) in [r]ead-only <b>[m]ode</b>").plain(),
            "create, Extract (expire) in read-only mode");
  EXPECT_EQ(restored("[c]reate a <b>g[z]ipped</b> file", "Criar um ficheiro gzipado", {0, 1, 3, 2}),
            "[c]riar um ficheiro <b>g[z]ipado</b>");
  EXPECT_EQ(restored("the e[xp]i[r]ation date", "data de expiração", {2, 1, 1}), "data de e[xp]i[r]ação");
  EXPECT_EQ(restored("e[x]pi[r]es now", "vence agora", {0, 1}), "vence [xr] agora") << "it has but one of them";
  EXPECT_EQ(restored("[l]ist the [F]iles", "exibir os arquivos", {0, 1, 2}), "exibir [l] os arquivos [F]");
  EXPECT_EQ(restored("[d]elete now", "já", {1}), "[d] já");
  EXPECT_EQ(restored("[d]elete", "", {}), "[d] ");
  EXPECT_EQ(restored("Wait, [q]uit", "Espere, saia", {0, 1}), "Espere, saia [q]");
  for (const std::string text : {"file[s]", "arr[i]", "list[T] of", "[re]start", "x = a[i]b()", "my_a[b]c", "[n]o_name",
                                 "[word] a", "[a]", "--[n]o", "[1]st", "[a][b]c", "[a"})
    for (const TagSource::Tag& tag : tagged(text).source().tags) EXPECT_NE(tag.role, TagRole::mnemonic) << text;
}

TEST(InlineTags, OfALineThatTellsHowAProgramIsCalledAreAllOfIt) {
  const auto plain = [](const std::string& text) {
    return TaggedText(text, tags_and_spans(text, true, [](const ProtectedSpan&) { return true; }, {})).plain();
  };
  for (const std::string text :
       {"git add [<options>] [--] <path>...", "git notes [--ref <ref>] add [-f] [-m <msg> | -F <file>] [<object>]",
        "git cat-file <type> <object>", "git branch (-c | -C) [<old>] <new>", "ls [OPTION]... [FILE]...",
        "%s [OPTION]... SOURCE... DIRECTORY", "git stash [push [-k|--[no-]keep] [-a]", "[-a|--all] [<message>]]"})
    for (const std::string& line : {text, "  " + text + "  "})
      EXPECT_EQ(plain(line).find_first_not_of(' '), plain(line).npos) << line;
  EXPECT_EQ(plain("Usage: git notes show [<object>]\n   or: git rm <a> <b>"), "Usage: \n   or: ");
  for (const std::string text :
       {"use [-f] instead of [-x]", "show full <object> or <rev> contents", "see [file]", "Install [<package>] now",
        "add [-f], please", "open <var-1/> <var-2/>", "loading files [%s]...", "append <mark> on error",
        "[[page]] [[other]] words", "- [-a] [-b]"})
    EXPECT_NE(plain(text).find_first_of("abcdefghijklmnopqrstuvwxyz"), std::string::npos) << text;
}

TEST(InlineTags, LeaveOutTheBracketsOfChangedLettersInQuotations) {
  const auto plain = [](const std::string& text) {
    const TaggedText tagged(text, tags_and_spans(text, false, [](const ProtectedSpan&) { return true; }, {}));
    EXPECT_FALSE(tagged.has_tags()) << text;
    return tagged.plain();
  };
  EXPECT_EQ(plain("She wrote that \"[t]he court\" errs"), "She wrote that \"the court\" errs");
  EXPECT_EQ(plain("“It’s [t]he law”"), "“It’s the law”");
  const std::string after = "Use \"x\" to [q]uit";
  EXPECT_TRUE(
      TaggedText(after, tags_and_spans(after, false, [](const ProtectedSpan&) { return true; }, {})).has_tags());
}

TEST(InlineTags, OfAWordWithAHyphenSurroundAllOfIt) {
  EXPECT_EQ(TaggedText("<b>Do</b> ensure that")
                .restore("Certifique-se de que", {{0, 2}, {2, 9}, {9, 14}}, {{0, 11}, {11, 13}, {13, 16}, {16, 20}},
                         {{0.9F, 0.1F, 0}, {0, 1, 0}, {0, 0, 1}, {0, 0, 1}}),
            "<b>Certifique-se</b> de que");
  EXPECT_EQ(TaggedText("<b>pre-</b>war").restore("pré-guerra", {{0, 4}, {4, 7}}, {{0, 5}, {5, 11}}, {{1, 0}, {0, 1}}),
            "<b>pré-</b>guerra");
}

TEST(InlineTags, DoNotComeWithinACharacter) {
  EXPECT_EQ(
      TaggedText("Wait.<b>.</b>.").restore("Espere…", {{0, 4}, {4, 7}}, {{0, 6}, {6, 9}}, {{0.9F, 0.1F}, {0.1F, 0.9F}}),
      "<b>Espere…</b>");
}

TEST(InlineTags, LeaveThePlainText) {
  EXPECT_EQ(TaggedText("a <b>c</b> d").plain(), "a c d");
  for (const char* text :
       {"one<br/>two", "one<br>two", "one<IMG src=x>two", "<b>one</b><input><i>two</i>", "one{x}two"})
    EXPECT_EQ(TaggedText(text).plain(), "one two") << text;
  EXPECT_EQ(TaggedText("one<wbr>two").plain(), "onetwo");
  const TaggedText lines("One.<br>Two.<BR/> <br> Three.{br}Four.<img>Five.<br>");
  EXPECT_EQ(lines.plain(), "One. Two.  Three.Four.Five.");
  EXPECT_EQ(lines.line_ends(), (std::vector<size_t>{4, 9, 10, 27}));
  const auto ends_of = [](const std::string& text) {
    const auto is_unknown = [](int32_t c) { return c >= 0x2000; };
    const auto all = [](const ProtectedSpan&) { return true; };
    return TaggedText(text, tags_and_spans(text, false, all, is_unknown)).line_ends();
  };
  EXPECT_EQ(ends_of("Red ● green → blue"), (std::vector<size_t>{4, 11}));
  EXPECT_EQ(ends_of("I ❤ you, 3 ≠ 4, a→b"), std::vector<size_t>{}) << "they belong to the sentence";
  EXPECT_EQ(TaggedText("<b>don't</b> <a title=\"30 > 9\" id='<b>'>it's</a>").plain(), "don't it's");
  EXPECT_EQ(TaggedText("hi {name}, {0}!").plain(), "hi , !");
  for (const char* text : {"3 < 4 > 2", "a <", "{", "<>", "{a b}", "</>", "x <3"}) {
    EXPECT_EQ(TaggedText(text).plain(), text);
    EXPECT_FALSE(TaggedText(text).has_tags());
  }
}

TEST(InlineTags, ArePlaceholdersWithTheirBracesAndTheSignInFront) {
  for (const char* tag :
       {"{{name}}", "{{ name }}", "{{{ name }}}", "{{count, number}}", "{{ price | currency:'EUR' }}", "{{#if x}}",
        "{{> part}}", "{{}}", "${name}", "${user.name}", "%{count}", "#{id}", "${{ secrets.KEY }}"}) {
    const TaggedText text(std::string("hello ") + tag + ", you");
    EXPECT_EQ(text.plain(), "hello , you") << tag;
    EXPECT_EQ(restored(std::string("red ") + tag + " car", "rotes Auto", {0, 1}),
              std::string("rotes ") + tag + " Auto");
  }
  EXPECT_EQ(TaggedText("$${n} {{n}} {{{{n}}}} {{{n}}").plain(), "$  {} {");
  for (const char* text : {"$5 off", "100% sure", "%s and %1$s", "#1", "${a b}", "$ {", "{{", "{{a b", "{{a b}",
                           "{{ a < b }}", "$", "{{{"}) {
    EXPECT_EQ(TaggedText(text).plain(), text);
    EXPECT_FALSE(TaggedText(text).has_tags());
  }
  EXPECT_EQ(TaggedText("{{ a<b>c }}</b>").plain(), "{{ ac }}") << "a tag is one by itself";
}

TEST(InlineTags, FollowTheWordsThatTheyEmbrace) {
  EXPECT_EQ(restored("a <b>red house</b> here", "hier ein rotes Haus", {3, 0, 1, 2}), "hier ein <b>rotes Haus</b>");
  EXPECT_EQ(restored("<p>a <b>red</b> house</p>", "ein Haus rot", {0, 2, 1}), "<p>ein Haus <b>rot</b></p>");
  EXPECT_EQ(restored("<b>a</b> <i>red</i> house", "Haus rot ein", {2, 1, 0}), "Haus <i>rot</i> <b>ein</b>");
  EXPECT_EQ(restored("<b><i>a</i></b> red", "rot ein", {1, 0}), "rot <b><i>ein</i></b>");
  EXPECT_EQ(restored("a <B>red house</b> here", "hier ein rotes Haus", {3, 0, 1, 2}), "hier ein <B>rotes Haus</b>");
  EXPECT_EQ(restored("<G><g>a</g></G> red", "rot ein", {1, 0}), "rot <G><g>ein</g></G>");
}

TEST(InlineTags, HaveMarksAtTheirEndsOnlyWhereTheSourceHasSome) {
  EXPECT_EQ(restored("then <b>it does</b> .", "dann , tut es .", {0, 1, 2, 1, 3}), "dann , <b>tut es</b> .");
  EXPECT_EQ(restored("the <b>syntax</b> . it", "die Syntax . es", {0, 1, 1, 3}), "die <b>Syntax</b> . es");
  EXPECT_EQ(restored("the <b>syntax .</b> it", "die Syntax . es", {0, 1, 2, 3}), "die <b>Syntax .</b> es");
  EXPECT_EQ(restored("<b>error ( red )</b> : it", "Fehler : es", {0, 3, 5}), "<b>Fehler</b> : es");
  EXPECT_EQ(restored("<b>error ( red )</b> : it", "Fehler ( rot ) : es", {0, 1, 2, 3, 3, 5}),
            "<b>Fehler ( rot )</b> : es");
  EXPECT_EQ(restored("<b>error ( red )</b> : it", "Fehler ( rot ): es", {0, 1, 2, 3, 5}), "<b>Fehler ( rot )</b>: es");
  EXPECT_EQ(restored("the <b>syntax .</b> it", "die Syntax ! es", {0, 1, 2, 3}), "die <b>Syntax !</b> es");
}

TEST(InlineTags, OfANameSurroundNoArticleOfTheTranslation) {
  EXPECT_EQ(restored("Use <b>gedit</b> daily", "Use o gedit diariamente", {0, 1, 1, 2}),
            "Use o <b>gedit</b> diariamente");
  EXPECT_EQ(restored("from <a>Quick Open</a>", "abra do Quick Open", {0, 1, 1, 2}), "abra do <a>Quick Open</a>");
  EXPECT_EQ(restored("a <b>dog</b>", "do cão", {1, 1}), "<b>do cão</b>") << "nothing is copied";
  EXPECT_EQ(restored("a <b>Net</b> b", "a Net-Netz Nets b", {0, 1, 1, 2}), "a <b>Net-Netz Nets</b> b")
      << "no whole word";
}

TEST(InlineTags, BringNoSpaceToTheEndsOfAnElement) {
  EXPECT_EQ(restored("<b>Delete {0} files</b>", "Ficheiros apagar", {1, 0}), "<b>{0} Ficheiros apagar</b>");
  EXPECT_EQ(restored("to <b>{0} files</b> now", "agora Ficheiros a", {2, 1, 0}), "agora <b>{0} Ficheiros</b> a");
  EXPECT_EQ(restored("<b>Files {0} deleted</b>", "apagados Ficheiros", {1, 0}), "<b>{0} apagados Ficheiros</b>");
}

TEST(InlineTags, OfRaisedLettersSurroundNoOtherWord) {
  EXPECT_EQ(restored("the 21<sup>st</sup> century", "das Jahrhundert 21st", {0, 2, 1}),
            "das Jahrhundert 21<sup>st</sup>");
  EXPECT_EQ(restored("the 21<sup>st</sup> century", "das einundzwanzigste Jahrhundert", {0, 1, 2}),
            "das einundzwanzigste<sup></sup> Jahrhundert");
  EXPECT_EQ(restored("the file<b>s</b> now", "die Dateien nun", {0, 1, 2}), "die <b>Dateien</b> nun");
  EXPECT_EQ(restored("a red<b>dish</b> car", "ein rotes Auto", {0, 1, 2}), "ein <b>rotes</b> Auto");
}

TEST(InlineTags, OfCatalogsHaveAnyNameWhereTheirEndFollows) {
  for (const std::string name : {"link", "Link", "col", "source", "input", "img", "1", "12"}) {
    const std::string begin = "<" + name + ">", end = "</" + name + ">";
    EXPECT_EQ(restored("a " + begin + "red house" + end + " here", "hier ein rotes Haus", {3, 0, 1, 2}),
              "hier ein " + begin + "rotes Haus" + end);
  }
  EXPECT_EQ(restored("<0>a <1>red</1></0> <2/> car", "Auto rot ein", {2, 1, 0}), "<2/> Auto <0><1>rot</1> ein</0>");
  EXPECT_EQ(restored("a <img> red <img>car</img>", "Auto rot ein", {2, 1, 0}), "<img>Auto</img> <img> rot ein");
  for (const char* text : {"a <5 and b>3", "a <5> b", "<1>a<1>", "<1", "</1", "<1/", "<1a></1a>", "< 1></ 1>", "</1/>"})
    EXPECT_EQ(TaggedText(text).plain(), text);
}

TEST(InlineTags, AroundAllThereIsStayAroundAllOfIt) {
  const auto restored_with_idle_end = [](const std::string& source) {
    const TaggedText text(source);
    const auto words = words_of(text.plain());
    // The last word attends to the end of the source alone.
    return text.restore("ein Haus .", words, words_of("ein Haus ."), {{0.9F, 0, 0}, {0, 0.9F, 0}, {0, 0, 0}});
  };
  EXPECT_EQ(restored_with_idle_end("<b>a house .</b>"), "<b>ein Haus .</b>");
  EXPECT_EQ(restored_with_idle_end("<p><b>a house .</b></p>"), "<p><b>ein Haus .</b></p>");
  EXPECT_EQ(restored_with_idle_end("<p><b>a house</b> .</p>"), "<p><b>ein Haus</b> .</p>");
  EXPECT_EQ(restored_with_idle_end("<b>a</b> <i>house .</i>"), "<b>ein</b> <i>Haus .</i>")
      << "the mark is the source's";
}

TEST(InlineTags, ThatStandForTheNextArgumentStayInOrder) {
  const auto moved = [](const std::string& source) {
    const TaggedText text(source, tags_and_spans(source, false, [](const ProtectedSpan&) { return true; }, {}));
    const std::string target = "Platte kopiert";
    return text.restore(target, words_of(text.plain()), words_of(target), {{0, 0, 0, 1}, {0, 1, 0, 0}});
  };
  EXPECT_EQ(moved("was %1$s copied to %2$d disk"), "%2$d Platte %1$s kopiert");
  EXPECT_EQ(moved("was %s copied to %d disk"), "%s Platte %d kopiert");
}

TEST(InlineTags, TakeOutATextWithoutLettersAndDigits) {
  const auto plain_of = [](const std::string& text, bool is_protected = true) {
    return TaggedText(text, tags_and_spans(text, true, [&](const ProtectedSpan&) { return is_protected; }, {})).plain();
  };
  for (const char* text : {"...", "-----", "?!", "<b>***</b>", "。。。"}) {
    EXPECT_EQ(plain_of(text), "") << text;
    EXPECT_NE(plain_of(text, false), "") << text << " is a term of the glossary";
  }
  for (const char* text : {"12:30", "a.", "٣", " ", ""}) EXPECT_EQ(plain_of(text), text);
}

TEST(InlineTags, OfProtectedWordsAreNotGluedToOtherWords) {
  const auto placed = [](const std::string& source, const std::string& target,
                         const std::vector<std::vector<float>>& rows) {
    const TaggedText text(source, tags_and_spans(source, false, [](const ProtectedSpan&) { return true; }, {}));
    return text.restore(target, words_of(text.plain()), words_of(target), rows);
  };
  const std::vector<std::vector<float>> one_to_one{{1, 0, 0}, {0, 0, 1}};
  EXPECT_EQ(placed("%s: no file", "keine Datei", one_to_one), "%s keine Datei");
  EXPECT_EQ(placed("%s%s: no file", "keine Datei", one_to_one), "%s%s keine Datei");
  EXPECT_EQ(placed("no (%s) file", "keine Datei", one_to_one).find("%sDatei"), std::string::npos);
  EXPECT_EQ(placed("No\\nfile", "Keine Datei", {{1, 0}, {0, 1}}), "Keine\\nDatei");
}

TEST(InlineTags, KnowWhereThePlainTextIsInTheText) {
  const std::string source = "{n}: one<br>two %d three";
  const TaggedText text(source, tags_and_spans(source, true, [](const ProtectedSpan&) { return true; }, {}));
  for (const std::string word : {"one", "two", "three", ":"}) {
    const size_t begin = text.plain().find(word);
    const ByteSpan found = span_in(text.source().places, {begin, begin + word.size()});
    EXPECT_EQ(source.substr(found.first, found.second - found.first), word);
  }
  EXPECT_EQ(span_in(text.source().places, {0, 0}), (ByteSpan{0, 0})) << "nowhere";
}

TEST(InlineTags, OfAcceleratorsStandBeforeALetter) {
  const std::string source = "rotate &now", target = "drehen , jetzt";
  const TaggedText text(source, tags_and_spans(source, false, [](const ProtectedSpan&) { return true; }, {}));
  EXPECT_EQ(text.restore(target, words_of(text.plain()), words_of(target), {{1, 0}, {0, 1}, {0.5F, 0.5F}}),
            "drehen , &jetzt");
}

TEST(InlineTags, WithoutContentGoBeforeTheWordThatFollowsThem) {
  EXPECT_EQ(restored("a <br/> red house", "Haus rot ein", {2, 1, 0}), "Haus <br/> rot ein");
  EXPECT_EQ(restored("<x/>a red", "rot ein", {1, 0}), "<x/>rot ein") << "at the beginning it stays";
  EXPECT_EQ(restored("a red<x/>", "rot ein", {1, 0}), "rot ein<x/>") << "and at the end";
  EXPECT_EQ(restored("a {x} red", "ein rot", {0, 1}), "ein {x} rot");
  EXPECT_EQ(restored("<b>a<br>big</b> red", "ein großes rotes", {0, 1, 2}), "<b>ein<br>großes</b> rotes");
  EXPECT_EQ(restored("A b.<br>C d.", "B a. D c.", {1, 0, 3, 2}), "B a.<br>D c.");
  EXPECT_EQ(restored("<b>a<br>big</b> red", "rotes großes ein", {2, 1, 0}), "rotes <b><br>großes ein</b>");
  EXPECT_EQ(restored("a <b>red", "ein rot", {0, 1}), "ein <b>rot") << "never closed";
  EXPECT_EQ(restored("a</b> red", "ein rot", {0, 1}), "ein</b> rot") << "never opened";
  EXPECT_EQ(restored("<a></a>", "", {}), "<a></a>");
}

// The second of the two words attends more to the word after the tag.
TEST(InlineTags, WithoutContentStayBeforeAnElementOfSeveralWords) {
  const auto restore = [](const std::string& source) {
    return TaggedText(source).restore("ein zum Test.", {{0, 1}, {1, 6}, {6, 7}}, {{0, 3}, {3, 7}, {7, 12}, {12, 13}},
                                      {{0.9F, 0.1F, 0}, {0.4F, 0.6F, 0}, {0.1F, 0.9F, 0}, {0, 0.1F, 0.9F}});
  };
  EXPECT_EQ(restore("a <x/><b>test</b>."), "ein <x/><b>zum Test</b>.");
  EXPECT_EQ(restore("a <b>test</b><x/>."), "ein <b>zum Test</b><x/>.");
}

TEST(InlineTags, BringNoSpaceBeforeAFullStop) {
  const TaggedText text("a red{x} car");
  const auto words = words_of(text.plain());
  const std::vector<std::vector<float>> alignment{{1, 0, 0}, {0, 0, 1}, {0, 1, 0}, {0, 0, 0}};
  for (const std::string mark : {".", ",", ")", "!"}) {
    const std::string target = "ein Auto rot" + mark;
    EXPECT_EQ(text.restore(target, words, {{0, 3}, {3, 8}, {8, 12}, {12, target.size()}}, alignment),
              "ein Auto rot{x}" + mark);
  }
  EXPECT_EQ(text.restore("ein Auto rot !", words, {{0, 3}, {3, 8}, {8, 12}, {12, 14}}, alignment), "ein Auto rot{x} !")
      << "the French write a space";
  const TaggedText moved("a <b>red</b> one.");
  EXPECT_EQ(moved.restore("ein rotes.", words_of(moved.plain()), {{0, 3}, {3, 9}, {9, 10}},
                          {{1, 0, 0}, {0, 0.6F, 0.4F}, {0, 0, 1}}),
            "ein <b>rotes</b>.");
}

TEST(InlineTags, ComeOnceAndNestedHoweverWildTheAlignment) {
  const std::string source = "<p>a <b>c <i>d e</i> {1}f</b> <u>g</u><br/> h</p> i";
  const std::string target = "A C D E F G H I";
  uint64_t state = 1;
  for (int round = 0; round < 300; ++round) {
    std::vector<size_t> links;
    for (int t = 0; t < 8; ++t) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      links.push_back((state >> 33) % 8);
    }
    const std::string text = restored(source, target, links);
    std::vector<std::string> open;
    size_t tags = 0;
    for (size_t at = 0; at < text.size(); ++at) {
      if (text[at] != '<' && text[at] != '{') continue;
      ++tags;
      const std::string tag = text.substr(at, text.find_first_of(">}", at) + 1 - at);
      if (tag == "<br/>" || tag == "{1}") continue;
      if (tag[1] != '/') {
        open.push_back(tag.substr(1));
      } else {
        ASSERT_FALSE(open.empty()) << text;
        EXPECT_EQ(open.back(), tag.substr(2)) << text;
        open.pop_back();
      }
    }
    EXPECT_EQ(tags, 10U) << text;
    EXPECT_TRUE(open.empty()) << text;
  }
}

// Random text with tags, and how a tokenizer might cut it: tokens have the spaces before them, or these are tokens of
// their own, and a tag may be within a token.
class RandomMarkup {
 public:
  explicit RandomMarkup(uint32_t seed) : random_(seed) {}

  std::string text() {
    std::string text = content(0);
    text.erase(0, text.find_first_not_of(' '));
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  }

  // Their spans in the text and in the text with single spaces.
  std::pair<std::vector<ByteSpan>, std::vector<ByteSpan>> tokens(const std::string& text, std::string& copy) {
    std::vector<ByteSpan> tokens, copied;
    size_t begin = 0;
    const auto add = [&](size_t end, const std::string& characters) {
      tokens.emplace_back(begin, end);
      copied.emplace_back(copy.size(), copy.size() + characters.size());
      copy += characters;
      begin = end;
    };
    while (begin < text.size()) {
      const size_t word = std::min(text.find_first_not_of(' ', begin), text.size());
      std::string space = word > begin && !copy.empty() ? " " : "";
      if (word == text.size()) break;
      if (one_in(4)) add(word, std::exchange(space, ""));
      const size_t end = std::min(text.find(' ', word), text.size());
      for (size_t at = word; at < end;) {
        const size_t next = one_in(3) ? end : std::min(end, at + 1 + random_() % 4);
        add(next, std::exchange(space, "") + text.substr(at, next - at));
        at = next;
      }
    }
    return {tokens, copied};
  }

 private:
  bool one_in(uint32_t n) { return random_() % n == 0; }

  std::string content(int depth) {
    static const std::vector<std::string> kWords{"a",    "man",  "dogs",   "H",     "2", "O",
                                                 "45.5", "it's", "shirt,", "(red)", "."};
    static const std::vector<std::string> kEmpty{"<br>",    "<img src='x'/>",           "{x}",
                                                 "<i></i>", "<a href=\"#\"><img/></a>", "<u> </u>"};
    std::string text;
    for (uint32_t items = random_() % (depth == 0 ? 9 : 4); items-- > 0;) {
      if (depth < 3 && one_in(3)) {
        text += "<b>" + content(depth + 1) + "</b>";
      } else if (one_in(4)) {
        text += kEmpty[random_() % kEmpty.size()];
      } else {
        text += kWords[random_() % kWords.size()];
      }
      if (!one_in(3) && text.back() != ' ') text += ' ';
    }
    return text;
  }

  std::mt19937 random_;
};

// The right answer of a model that copies its source is the source.
TEST(InlineTags, OfACopyAreWhereTheyWere) {
  RandomMarkup random(7);
  for (int round = 0; round < 3'000; ++round) {
    const std::string source = random.text();
    const TaggedText text(source);
    std::string copy;
    const auto [source_tokens, target_tokens] = random.tokens(text.plain(), copy);
    const size_t tokens = source_tokens.size();
    std::vector<std::vector<float>> alignment(tokens, std::vector<float>(tokens, 0.2F / static_cast<float>(tokens)));
    for (size_t t = 0; t < tokens; ++t) alignment[t][t] += 0.7F;
    ASSERT_EQ(text.restore(copy, source_tokens, target_tokens, alignment), source) << copy;
  }
}

TEST(InlineTags, MayBeNestedAsDeeplyAsAnybodyLikes) {
  std::string source;
  for (int i = 0; i < 25000; ++i) source += "<b>";
  source += "x";
  for (int i = 0; i < 25000; ++i) source += "</b>";
  const std::string text = restored(source, "y", {0});
  EXPECT_EQ(text.size(), source.size());
  EXPECT_EQ(std::count(text.begin(), text.end(), '<'), 50000);
  EXPECT_EQ(std::count(text.begin(), text.end(), 'y'), 1);
}

TEST(InlineTags, AreFoundInOrderWithTheirKinds) {
  const std::string text = "3 < 4 <b>{n} <i/></b><img src='<b>'> <a title=\"x> y";
  std::vector<std::string> found;
  std::vector<InlineTag::Kind> kinds;
  for (const InlineTag& tag : inline_tags(text)) {
    found.push_back(text.substr(tag.begin, tag.length));
    kinds.push_back(tag.kind);
  }
  EXPECT_EQ(found, (std::vector<std::string>{"<b>", "{n}", "<i/>", "</b>", "<img src='<b>'>"}));
  using Kind = InlineTag::Kind;
  EXPECT_EQ(kinds, (std::vector<Kind>{Kind::opening, Kind::empty, Kind::empty, Kind::closing, Kind::empty}));
}

TEST(InlineTags, AreAsLongAsAnybodyWritesThem) {
  const std::string image = "<img alt='a > b' src=\"data:image/png;base64,\n" + std::string(100'000, 'A') + "\"/>";
  const std::string link = "<a href=\"" + std::string(5000, '<') + "\">";
  EXPECT_EQ(TaggedText("see " + image + " and " + link + "this</a>").plain(), "see  and this");
  EXPECT_EQ(restored("see " + image + " and " + link + "this</a>", "das und sieh", {2, 1, 0}),
            link + "das</a> " + image + " und sieh");
  const std::string no_tag = "<1" + std::string(5000, ' ') + "> <a title=\"" + std::string(5000, '>');
  EXPECT_EQ(TaggedText(no_tag).plain(), no_tag);
}

// Each '<' was read up to the end of the text: minutes for a request's length of them.
TEST(InlineTags, ThatNeverEndAreReadAtOnce) {
  for (const std::string begin : {"<", "<a title=\"", "<a title='x'", "<1", "<1>"}) {
    std::string source;
    for (int i = 0; i < 200'000; ++i) source += begin;
    EXPECT_LT(cpu_seconds_of([&] { EXPECT_EQ(TaggedText(source).plain().size(), source.size()); }), 2) << begin;
  }
}

// The names of all that are open were copied at each end: minutes for a request's length of them.
TEST(InlineTags, WithLongNamesAreReadAtOnce) {
  std::string source;
  for (int i = 0; i < 100; ++i) source += "<" + std::string(2000, 'a') + ">";
  source += "x";
  for (int i = 0; i < 40000; ++i) source += "</y>";
  EXPECT_LT(cpu_seconds_of([&] { EXPECT_EQ(TaggedText(source).plain(), "x"); }), 2);
}

// Not longer than reading its alignment, which has the square of its length: 12 tags for each of 2,000 words took
// longer than anybody waits.
TEST(InlineTags, TakeNoLongerThanTheirAlignment) {
  std::string source, target;
  std::vector<size_t> links;
  for (size_t i = 0; i < 2000; ++i) {
    source += "<b>{x}<i/>w<u></u></b> <br/><a><c></c> </a>";
    target += "v ";
    links.push_back(1999 - i);
  }
  const auto start = testing::CpuClock::now();
  const std::string text = restored(source, target, links);
  const double seconds = std::chrono::duration<double>(testing::CpuClock::now() - start).count();
  EXPECT_EQ(std::count(text.begin(), text.end(), '<'), std::count(source.begin(), source.end(), '<'));
  EXPECT_LT(seconds, 20);
}

// Each word had a weight for each piece of the whole text: 1.2 GB for a text of 6,000 tokens with 12,000 tags.
TEST(InlineTags, OfATextInPartsHaveWeightsOfTheirPartsAlone) {
  constexpr size_t kParts = 20, kWords = 50;  // words of each part, each cut by a tag
  std::string source, target;
  std::set<size_t> cuts;
  std::vector<std::vector<float>> alignment;
  for (size_t i = 0; i < kParts * kWords; ++i) {
    cuts.insert(source.size() + 1);
    source += "ab ";
    target += "v ";
    alignment.emplace_back(kParts * kWords);
    const auto part = alignment.back().begin() + static_cast<std::ptrdiff_t>(i / kWords * kWords);
    std::fill(part, part + kWords, 1.0F / kWords);
  }
  const auto source_tokens = words_of(source), target_tokens = words_of(target);
  const AlignedWords aligned = align_words(source, cuts, {target, source_tokens, target_tokens, alignment});
  ASSERT_EQ(aligned.words.size(), kParts * kWords);
  size_t weights = 0;
  for (const AlignedWord& word : aligned.words) weights += word.row.capacity() + word.most.capacity();
  EXPECT_LE(weights, 4 * kWords * aligned.words.size());
}

// With the fourth power of its length, as before, it would take minutes.
TEST(InlineTags, OfALongTextAreRestored) {
  std::string source, target;
  std::vector<size_t> links;
  for (size_t i = 0; i < 600; ++i) {
    source += i % 2 == 0 ? "<b>w</b> " : "w ";
    target += "v ";
    links.push_back(i);
  }
  source.pop_back();
  target.pop_back();
  const std::string text = restored(source, target, links);
  EXPECT_EQ(text.substr(0, 18), "<b>v</b> v <b>v</b");
  EXPECT_EQ(text.size(), source.size());
}

}  // namespace
}  // namespace transmute
