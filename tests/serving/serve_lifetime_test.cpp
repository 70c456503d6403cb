// SPDX-License-Identifier: Apache-2.0
// The program serve from its start to its end: usage, reloads, draining.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <transmute/common/json.h>
#include <transmute/tests/serving/client.h>
#include <transmute/tests/serving/running_serve.h>
#include <transmute/tests/serving/serve_fixture.h>
#include <transmute/tests/serving/tiny_model_folder.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/subprocess.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

namespace transmute::testing {
namespace {

using ::testing::HasSubstr;

TEST_F(Serve, ReloadsModelsWithoutLosingARequest) {
  TinyModelFolder folder(5);
  RunningServe server({"--model", "en-de=" + folder.path(), "--threads", "2"});
  const std::string request = Json{{"q", kText}, {"source", "en"}, {"target", "de"}}.dump();
  Client client(server.port());
  const std::string before = client.post("/translate", request).body;
  std::atomic<bool> stop{false};
  std::atomic<int> answered{0}, failed{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i)
    clients.emplace_back([&] {
      Client mine(server.port());
      while (!stop) ++(mine.post("/translate", request).status == 200 ? answered : failed);
    });
  folder.replace(6);
  server.signal(SIGHUP);
  EXPECT_TRUE(server.logs("\"event\":\"reload\",\"result\":\"done\""));
  stop = true;
  for (auto& thread : clients) thread.join();
  EXPECT_EQ(failed, 0);
  EXPECT_GT(answered, 0);
  const std::string after = client.post("/translate", request).body;
  EXPECT_NE(after, before);
  write_text(folder.path() + "/weights.safetensors", "damaged");
  server.signal(SIGHUP);
  EXPECT_TRUE(server.logs("failed; what was read before stays"));
  EXPECT_EQ(client.post("/translate", request).body, after);
}

TEST_F(Serve, ListsItsLanguagesWhileItReloads) {
  std::vector<std::string> words{"--threads", "1", "--quiet"};
  for (char letter = 'a'; letter <= 'z'; ++letter)  // one model, and a list that takes a while
    words.insert(words.end(),
                 {"--model", std::string("en/eng_Latn:q") + letter + "/deu_Latn=" TRANSMUTE_TEST_DATA "/formats/nllb"});
  RunningServe server(words);
  const std::string before = Client(server.port()).get("/languages").body;
  std::atomic<bool> stop{false};
  std::atomic<int> same{0}, other{0};
  std::thread client([&] {
    Client mine(server.port());
    while (!stop && other == 0) ++(mine.get("/languages").body == before ? same : other);
  });
  for (int i = 0; i < 100 && other == 0; ++i) {
    server.signal(SIGHUP);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  stop = true;
  client.join();
  EXPECT_GT(same, 0);
  EXPECT_EQ(other, 0);
}

TEST_F(Serve, RefusesAKeyThatWasTakenOutEvenWhereTheModelsCannotBeReadAgain) {
  const TinyModelFolder model(5);
  const TemporaryFolder folder;
  write_text(folder / "keys", run_program_with({"sha256sum"}, "secret").output.substr(0, 64) + " alice\n");
  RunningServe server({"--model", "en-de=" + model.path(), "--threads", "1", "--api-keys", folder / "keys"});
  write_text(folder / "keys", "# nobody\n");
  write_text(model.path() + "/weights.safetensors", "damaged");
  server.signal(SIGHUP);
  ASSERT_TRUE(server.logs("\"result\":\"failed; what was read before stays\",\"what\":\"models\""));
  EXPECT_TRUE(server.logs("\"result\":\"done\",\"what\":\"API keys\""));
  const std::string request = Json{{"q", kText}, {"source", "en"}, {"target", "de"}, {"api_key", "secret"}}.dump();
  EXPECT_EQ(Client(server.port()).post("/translate", request).status, 403);
}

TEST_F(Serve, OpensTheModelsAgainWhereItsKeysCannotBeRead) {
  const TinyModelFolder model(5);
  const TemporaryFolder folder;
  write_text(folder / "keys", run_program_with({"sha256sum"}, "secret").output.substr(0, 64) + " alice\n");
  RunningServe server({"--model", "en-de=" + model.path(), "--threads", "1", "--api-keys", folder / "keys"});
  write_text(folder / "keys", "nonsense\n");
  server.signal(SIGHUP);
  EXPECT_TRUE(server.logs("\"result\":\"failed; what was read before stays\",\"what\":\"API keys\""));
  EXPECT_TRUE(server.logs("\"result\":\"done\",\"what\":\"models\""));
  const std::string request = Json{{"q", kText}, {"source", "en"}, {"target", "de"}, {"api_key", "secret"}}.dump();
  EXPECT_EQ(Client(server.port()).post("/translate", request).status, 200);
}

// A key that is taken out while models are read must not stay valid until somebody asks once more.
TEST_F(Serve, ReadsAgainWhatChangedWhileItRead) {
  const TinyModelFolder model(5);
  const TemporaryFolder folder;
  write_text(folder / "keys", run_program_with({"sha256sum"}, "secret").output.substr(0, 64) + " alice\n");
  RunningServe server({"--model", "en-de=" + model.path(), "--threads", "1", "--api-keys", folder / "keys"});
  const std::string request = Json{{"q", kText}, {"source", "en"}, {"target", "de"}, {"api_key", "secret"}}.dump();
  EXPECT_EQ(Client(server.port()).post("/translate", request).status, 200);
  for (int i = 0; i < 20; ++i) server.signal(SIGHUP);
  write_text(folder / "keys", "# nobody\n");
  server.signal(SIGHUP);
  int status = 200;
  for (int i = 0; i < 500 && status == 200; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    status = Client(server.port()).post("/translate", request).status;
  }
  EXPECT_EQ(status, 403);
}

TEST_F(Serve, EndsWhileItReads) {
  const TemporaryFolder folder;
  const std::string keys = folder / "keys";
  write_text(keys, "# nobody\n");
  RunningServe server(flags({"--api-keys", keys}));
  std::filesystem::remove(keys);
  ASSERT_EQ(::mkfifo(keys.c_str(), 0600), 0);
  server.signal(SIGHUP);
  int pipe = -1;
  for (int i = 0; i < 500 && pipe < 0; ++i) {  // until the server waits for what comes out of it
    pipe = ::open(keys.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ASSERT_GE(pipe, 0);
  server.signal(SIGTERM);
  EXPECT_TRUE(server.logs("\"event\":\"stopped\""));
  EXPECT_EQ(server.wait(), 0);
  ::close(pipe);
}

// It reads its keys from a pipe, where it waits until the test has sent the signal.
TEST_F(Serve, ReloadsOnceItListensWhereItWasAskedToWhileItStarted) {
  const TemporaryFolder folder;
  const std::string script = R"(mkfifo "$3/keys"
"$1" --model "$2" --threads 1 --port 0 --api-keys "$3/keys" >"$3/out" 2>"$3/log" &
{ kill -HUP $!; echo "# nobody"; } >"$3/keys"
until grep -q http "$3/out"; do sleep 0.05; done
echo "# nobody" >"$3/keys"
until grep -q '"event":"reload","result":"done"' "$3/log"; do sleep 0.05; done
kill -TERM $!
wait $!)";
  const std::string program = std::string(TRANSMUTE_PROGRAMS) + "/serve", model = "en-de=" + folder_->path();
  const Outcome outcome = run_program_with({"timeout", "60", "sh", "-c", script, "sh", program, model, folder.path()});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors << read_text(folder / "log");
}

// The same happens as process 1 of a container, which the system protects from signals that it does not handle.
TEST_F(Serve, EndsWhereAContainerIsStoppedWhileItStarts) {
  if (run_program_with({"unshare", "--pid", "--fork", "true"}).exit_code != 0)
    GTEST_SKIP() << "this process may not make another PID namespace";
  const TemporaryFolder folder;
  const std::string script = R"(mkfifo "$3/keys"
unshare --pid --fork --kill-child "$1" --model "$2" --threads 1 --port 0 --api-keys "$3/keys" &
exec 3>"$3/keys"
kill -TERM $(cat /proc/$!/task/$!/children)
wait $!)";
  const std::string program = std::string(TRANSMUTE_PROGRAMS) + "/serve", model = "en-de=" + folder_->path();
  const Outcome outcome = run_program_with({"timeout", "20", "sh", "-c", script, "sh", program, model, folder.path()});
  EXPECT_EQ(outcome.exit_code, 128 + SIGTERM) << outcome.errors;
}

TEST_F(Serve, LosesNoAcceptedRequestWhenItIsTerminated) {
  const std::string request = Json{{"q", kText}, {"source", "en"}, {"target", "de"}}.dump();
  for (int round = 0; round < 5; ++round) {
    RunningServe server(flags({"--quiet"}));
    std::atomic<int> answered{0}, lost{0};
    std::vector<std::thread> clients;
    for (int i = 0; i < 8; ++i)
      clients.emplace_back([&] {
        try {
          while (true) {
            Client client(server.port());  // throws once nobody listens any more
            if (!client.send(request_bytes("POST", "/translate", request, "Content-Type: application/json\r\n")))
              return;
            ++(client.receive().status == 200 ? answered : lost);
          }
        } catch (const std::runtime_error&) {
        }
      });
    std::this_thread::sleep_for(std::chrono::milliseconds(100 + 30 * round));
    server.signal(SIGTERM);
    EXPECT_EQ(server.wait(), 0);
    for (auto& thread : clients) thread.join();
    EXPECT_GT(answered, 0);
    EXPECT_EQ(lost, 0) << "of " << answered + lost << " in round " << round;
  }
}

TEST_F(Serve, IsAliveButNotReadyWhileItDrains) {
  RunningServe server(one_worker({"--request-seconds", "2"}));
  Client busy(server.port()), probe(server.port());
  busy.send(request_bytes("POST", "/v1/translate", slow_request(), "Content-Type: application/json\r\n"));
  EXPECT_EQ(probe.get("/health/ready").status, 200);
  server.signal(SIGTERM);
  ASSERT_TRUE(server.logs("\"event\":\"draining\""));
  EXPECT_EQ(probe.get("/health/ready").status, 503);
  EXPECT_NE(busy.receive().status, 0) << "its request was accepted";
  EXPECT_EQ(server.wait(), 0);
}

TEST_F(Serve, EndsAfterItsTimeToDrain) {
  RunningServe server(one_worker({"--drain-seconds", "0.2"}));
  Client busy(server.port());
  busy.send(request_bytes("POST", "/v1/translate", slow_request(kWideBeam), "Content-Type: application/json\r\n"));
  ASSERT_TRUE(shows(server, "transmute_running_segments 1"));
  const auto begin = std::chrono::steady_clock::now();
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait(), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15)) << "the default is 30";
  EXPECT_NE(busy.receive().status, 200) << "the request was to take longer";
}

TEST(ServeUsage, NamesWhatIsWrong) {
  const auto errors = [](const std::vector<std::string>& flags, int code) {
    std::vector<std::string> words{std::string(TRANSMUTE_PROGRAMS) + "/serve"};
    words.insert(words.end(), flags.begin(), flags.end());
    const Outcome outcome = run_program_with(words);
    EXPECT_EQ(outcome.exit_code, code) << outcome.errors;
    return outcome.errors;
  };
  EXPECT_THAT(errors({}, 2), HasSubstr("--model"));
  EXPECT_THAT(errors({"--model", "en-de=/nowhere"}, 1), HasSubstr("/nowhere"));
  EXPECT_THAT(errors({"--model", "english=/nowhere"}, 2), HasSubstr("write en-de=FOLDER"));
  EXPECT_THAT(errors({"--model", "/nowhere"}, 1), HasSubstr("/nowhere: no such model folder"));
  EXPECT_THAT(errors({"--model", "/etc/passwd"}, 1), HasSubstr("/etc/passwd: no model"));
  const TinyModelFolder folder;
  EXPECT_THAT(errors({"--model", folder.path()}, 2), HasSubstr("--model en-de="));
  const std::string model = "en-de=" + folder.path();
  EXPECT_THAT(errors({"--model", model, "--model", model}, 2), HasSubstr("two models are given for en-de"));
  EXPECT_THAT(errors({"--model", model, "--pivot", "de"}, 2),
              HasSubstr("--pivot de: a model into this language and one from it are needed"));
  EXPECT_THAT(errors({"--model", model, "--api-keys", ""}, 2), HasSubstr("--api-keys: needs the name of a file"));
  EXPECT_THAT(errors({"--model", model, "--address", "example.org"}, 2), HasSubstr("is not an IP address"));
  EXPECT_THAT(errors({"--model", model, "--max-queue", "0"}, 2), HasSubstr("--max-queue: must be at least 1, not 0"));
  for (const char* number : {"1e3", "0.5"})
    EXPECT_THAT(errors({"--model", model, "--max-texts", number}, 2),
                HasSubstr("--max-texts: needs a whole number, not '" + std::string(number) + "'"));
  for (const char* seconds : {"1e10", "0", "1e-9"})
    EXPECT_THAT(errors({"--model", model, "--idle-seconds", seconds}, 2),
                HasSubstr("--idle-seconds: must be a number from 0.001 to 1000000000, not"));
}

}  // namespace
}  // namespace transmute::testing
