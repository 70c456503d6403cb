// SPDX-License-Identifier: Apache-2.0
#include <transmute/tests/serving/browser.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

namespace transmute::testing {

namespace {

constexpr int kPatienceMilliseconds = 60'000;
constexpr int kFirstFreeDescriptor = 50;

// In the child: Chromium reads commands from descriptor 3 and writes to 4.
[[noreturn]] void become_chromium(const std::string& name, const std::string& profile, int in, int out) {
  const int high_in = ::fcntl(in, F_DUPFD, kFirstFreeDescriptor),
            high_out = ::fcntl(out, F_DUPFD, kFirstFreeDescriptor);
  ::dup2(high_in, 3);
  ::dup2(high_out, 4);
  for (int i = 5; i <= kFirstFreeDescriptor + 2; ++i) ::close(i);
  const int nothing = ::open("/dev/null", O_RDWR);
  for (int i = 0; i < 3; ++i) ::dup2(nothing, i);
  ::setpgid(0, 0);
  ::execlp(name.c_str(), name.c_str(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
           "--window-size=1200,900", ("--user-data-dir=" + profile).c_str(), "--remote-debugging-pipe", "about:blank",
           static_cast<char*>(nullptr));
  ::_exit(127);
}

}  // namespace

std::string BrowserPage::chromium() {
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"})
    if (std::system(("command -v " + std::string(name) + " >/dev/null 2>&1").c_str()) == 0) return name;
  return "";
}

BrowserPage::BrowserPage() {
  int commands[2], answers[2];
  if (::pipe(commands) != 0 || ::pipe(answers) != 0) throw std::runtime_error("no pipes");
  process_ = ::fork();
  if (process_ == 0) become_chromium(chromium(), folder_ / "profile", commands[0], answers[1]);
  ::close(commands[0]);
  ::close(answers[1]);
  to_browser_ = commands[1];
  from_browser_ = answers[0];
  std::signal(SIGPIPE, SIG_IGN);
  const Json target = call("Target.createTarget", {{"url", "about:blank"}}, false);
  session_ = call("Target.attachToTarget", {{"targetId", target["targetId"]}, {"flatten", true}}, false)["sessionId"];
  for (const char* domain : {"Page", "Runtime", "Network", "Log", "Accessibility"})
    call(std::string(domain) + ".enable");
}

BrowserPage::~BrowserPage() {
  ::close(to_browser_);
  ::close(from_browser_);
  ::kill(-process_, SIGKILL);  // with its own children
  ::waitpid(process_, nullptr, 0);
}

Json BrowserPage::read_message() {
  size_t end = received_.find('\0');
  for (; end == std::string::npos; end = received_.find('\0')) {
    pollfd waiting{from_browser_, POLLIN, 0};
    char buffer[65536];
    const bool is_ready = ::poll(&waiting, 1, kPatienceMilliseconds) > 0;
    const ssize_t n = is_ready ? ::read(from_browser_, buffer, sizeof buffer) : 0;
    if (n <= 0) throw std::runtime_error("Chromium does not answer");
    received_.append(buffer, static_cast<size_t>(n));
  }
  Json message = parse_json(received_.substr(0, end));
  received_.erase(0, end + 1);
  return message;
}

void BrowserPage::notice(const Json& event) {
  const std::string method = event.value("method", "");
  if (method == "Network.requestWillBeSent") requests_.push_back(event["params"]["request"]["url"]);
  if (method == "Network.responseReceived") content_types_.push_back(event["params"]["response"]["mimeType"]);
  if (method == "Runtime.exceptionThrown") problems_.push_back(event["params"]["exceptionDetails"].dump());
  if (method != "Log.entryAdded") return;
  const Json& entry = event["params"]["entry"];
  if (entry["level"] == "error" && entry["source"] != "network") problems_.push_back(entry.dump());  // "network": a 400
}

Json BrowserPage::call(const std::string& method) {
  return call(method, Json());
}

Json BrowserPage::call(const std::string& method, const Json& parameters, bool of_page) {
  Json command{{"id", ++last_id_}, {"method", method}};
  command["params"] = parameters.is_null() ? Json::object() : parameters;
  if (of_page) command["sessionId"] = session_;
  const std::string text = command.dump() + '\0';
  if (::write(to_browser_, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw std::runtime_error("Chromium does not listen");
  while (true) {
    const Json message = read_message();
    if (message.value("id", 0) != last_id_) {
      notice(message);
      continue;
    }
    if (message.contains("error")) throw std::runtime_error(method + ": " + message["error"].dump());
    return message["result"];
  }
}

void BrowserPage::open(const std::string& address) {
  call("Page.navigate", {{"url", address}});
  if (!becomes_true("document.readyState === 'complete' && location.href !== 'about:blank'"))
    throw std::runtime_error(address + " does not load");
}

Json BrowserPage::evaluate(const std::string& expression) {
  const Json result =
      call("Runtime.evaluate", {{"expression", expression}, {"returnByValue", true}, {"awaitPromise", true}});
  if (result.contains("exceptionDetails")) throw std::runtime_error(expression + ": " + result.dump());
  return result["result"].value("value", Json());
}

bool BrowserPage::becomes_true(const std::string& expression) {
  for (int i = 0; i < 600; ++i) {
    if (evaluate("Boolean(" + expression + ")") == true) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return false;
}

void BrowserPage::type(const std::string& text) {
  call("Input.insertText", {{"text", text}});
}

void BrowserPage::press(const std::string& key, const std::string& code, int key_code, int modifiers) {
  for (const char* type : {"rawKeyDown", "keyUp"})
    call("Input.dispatchKeyEvent",
         {{"type", type}, {"key", key}, {"code", code}, {"windowsVirtualKeyCode", key_code}, {"modifiers", modifiers}});
}

void BrowserPage::resize(int width, int height, bool touch) {
  call("Emulation.setDeviceMetricsOverride",
       {{"width", width}, {"height", height}, {"deviceScaleFactor", touch ? 2 : 1}, {"mobile", touch}});
  call("Emulation.setTouchEmulationEnabled", {{"enabled", touch}});
}

Json BrowserPage::middle_of(const std::string& selector) {
  return evaluate("(() => { const box = document.querySelector(" + Json(selector).dump() +
                  ").getBoundingClientRect(); return {x: box.x + box.width / 2, y: box.y + box.height / 2}; })()");
}

void BrowserPage::tap(const std::string& selector) {
  call("Input.dispatchTouchEvent", {{"type", "touchStart"}, {"touchPoints", Json::array({middle_of(selector)})}});
  call("Input.dispatchTouchEvent", {{"type", "touchEnd"}, {"touchPoints", Json::array()}});
}

void BrowserPage::click(const std::string& selector) {
  Json event = middle_of(selector);
  for (const char* type : {"mouseMoved", "mousePressed", "mouseReleased"}) {
    event["type"] = type;
    event["button"] = std::string(type) == "mouseMoved" ? "none" : "left";
    event["clickCount"] = 1;
    call("Input.dispatchMouseEvent", event);
  }
}

std::vector<std::string> BrowserPage::accessible_nodes() {
  std::vector<std::string> nodes;
  const Json tree = call("Accessibility.getFullAXTree");
  for (const Json& node : tree["nodes"]) {
    if (node.value("ignored", false)) continue;
    const std::string role = node["role"]["value"].get<std::string>();
    nodes.push_back(role + " " + (node.contains("name") ? node["name"]["value"].get<std::string>() : ""));
  }
  return nodes;
}

}  // namespace transmute::testing
