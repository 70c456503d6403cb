#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of get, models and the programs that find a stored model, beside a server that imitates the hub.

TRANSMUTE_PROGRAMS: the folder of programs. TRANSMUTE_TEST_DATA: tests/data.
"""

import hashlib
import io
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time
import unittest
import zipfile

from hub import COMMIT, Hub

PROGRAMS = pathlib.Path(os.environ["TRANSMUTE_PROGRAMS"])
FORMATS = pathlib.Path(os.environ["TRANSMUTE_TEST_DATA"]) / "formats"
NAME = "Helsinki-NLP/opus-mt-en-de"


METADATA = b'{"from_code": "en", "to_code": "de"}'


def files_of(folder):
    return {path.name: path.read_bytes() for path in pathlib.Path(folder).iterdir() if path.is_file()}


def zip_of(files):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return archive.getvalue()


def argos_package():
    model = {f"translate-en_de/model/{name}": content
             for name, content in files_of(FORMATS / "marian_ctranslate2").items()}
    model["translate-en_de/metadata.json"] = METADATA
    model["translate-en_de/stanza/en.pt"] = b"a pickle"
    return zip_of(model)


def tar_of(entries, mode="w:gz"):
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode=mode) as packed:
        for entry, content in entries:
            entry = tarfile.TarInfo(entry) if isinstance(entry, str) else entry
            entry.size = len(content)
            packed.addfile(entry, io.BytesIO(content))
    return archive.getvalue()


class GetTest(unittest.TestCase):
    def setUp(self):
        self.hub = Hub()
        self.addCleanup(self.hub.close)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.data = pathlib.Path(folder.name)
        self.store = self.data / "transmute" / "models"
        self.model = files_of(FORMATS / "marian")
        del self.model["expected.json"]
        self.hub.models[NAME] = {**self.model, "pytorch_model.bin": b"unused", "tf_model.h5": b"unused",
                                 "onnx/model.bin": b"unused", ".gitattributes": b"unused"}
        self.hub.cards[NAME] = {"license": "cc-by-4.0", "language": ["en", "de"]}
        self.environment = {"PATH": os.environ["PATH"], "XDG_DATA_HOME": str(self.data), "LC_ALL": "C",
                            "HF_ENDPOINT": self.hub.address}

    def run_program(self, program, *words, wrap=(), text=None, **environment):
        return subprocess.run([*wrap, PROGRAMS / program, *words], env={**self.environment, **environment},
                              input=text, stdin=None if text is not None else subprocess.DEVNULL,
                              capture_output=True, text=True, cwd=self.data, check=False)

    def get(self, *words, **environment):
        return self.run_program("get", *words, **environment)

    def assert_got(self, outcome, name="en-de", files=None):
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        stored = files_of(self.store / name)
        del stored["download.json"]
        self.assertEqual(stored, self.model if files is None else files)
        self.assertEqual(sorted(path.name for path in self.store.iterdir()), [".lock", name])

    def assert_refused(self, outcome, *texts, code=1):
        self.assertEqual(outcome.returncode, code, outcome.stderr)
        for text in texts:
            self.assertIn(text, outcome.stderr)
        self.assertEqual([p.name for p in self.store.iterdir() if not p.name.startswith(".")]
                         if self.store.exists() else [], [])

    def file_requests(self):
        return [headers for command, path, headers in self.hub.requests if path.startswith(("/cdn/", "/a."))
                and command == "GET"]

    def test_downloads_what_the_readers_need_and_shows_license_and_size(self):
        outcome = self.get("en-de", HF_TOKEN="secret")
        self.assert_got(outcome)
        size = sum(map(len, self.model.values()))
        self.assertIn(f"license: cc-by-4.0\nsize: {size / 1000:.0f} kB\n", outcome.stderr)
        self.assertIn(f"hf:{NAME}, commit {COMMIT}", outcome.stderr)
        # The hub's own host has the token, and the host that it redirects to does not.
        for _, path, headers in self.hub.requests:
            expected = None if path.startswith("/cdn/") else "Bearer secret"
            self.assertEqual(headers.get("Authorization"), expected, path)

    def test_downloads_checkpoints_of_training_programs(self):
        for kind, unused in (("fairseq", "checkpoint_last.pt"), ("joeynmt", None), ("opennmt", None)):
            files = files_of(FORMATS / kind)
            del files["expected.json"]
            self.hub.models["me/" + kind] = {**files, **({unused: b"unused"} if unused else {})}
            outcome = self.get("hf:me/" + kind)
            self.assertEqual(outcome.returncode, 0, outcome.stderr)
            stored = files_of(self.store / kind)
            del stored["download.json"]
            self.assertEqual(stored, files)

    def test_every_program_finds_a_stored_model_and_models_lists_it(self):
        self.get("en-de")
        by_path = self.run_program("translate", "-m", FORMATS / "marian", text="a b\n")
        by_name = self.run_program("translate", "-m", "en-de", text="a b\n")
        self.assertEqual((by_name.returncode, by_name.stdout), (0, by_path.stdout), by_name.stderr)
        listed = self.run_program("models").stdout.splitlines()
        self.assertEqual(len(listed), 2)
        self.assertEqual(listed[1].split(), ["en-de", "en,", "de", *listed[1].split()[3:5], "cc-by-4.0", f"hf:{NAME}",
                                             str(self.store / "en-de")])
        (self.data / "en-de").mkdir()  # a folder of this name comes before the store
        self.assertIn("en-de: no model", self.run_program("translate", "-m", "en-de", text="a b\n").stderr)

    def test_a_second_time_it_says_that_the_model_is_there(self):
        self.get("en-de")
        count = len(self.hub.requests)
        again = self.get("en-de")
        self.assert_got(again)
        self.assertIn("is there already", again.stderr)
        self.assertEqual(len(self.hub.requests), count)
        other = self.get("hf:other/en-de")
        self.assertEqual(other.returncode, 1)
        self.assertIn("--name", other.stderr)

    def test_another_revision_than_the_stored_one_is_an_error(self):
        self.get("en-de")
        for revision in (COMMIT, "v1"):  # the hub says that v1 is this commit
            self.assert_got(self.get(f"hf:{NAME}@{revision}", "--name", "en-de"))
        self.assertEqual(len([path for _, path, _ in self.hub.requests if path.endswith("/revision/v1")]), 1)
        description = {**self.hub.describe(NAME), "sha": "f" * 40}
        self.hub.describe = lambda _: description
        shutil.copytree(self.store / "en-de", self.data / "before")
        for more in ((), ("--dry-run",)):
            outcome = self.get(f"hf:{NAME}@v1", "--name", "en-de", *more)
            self.assertEqual(outcome.returncode, 1)
            self.assertIn(f"{COMMIT} of this model is stored, not {'f' * 40}; remove that folder", outcome.stderr)
        self.assertEqual(files_of(self.store / "en-de"), files_of(self.data / "before"))

    def test_another_checksum_than_that_of_the_stored_archive_is_an_error(self):
        package = argos_package()
        self.assert_got(self.archive(package), "a", {"metadata.json": METADATA})
        count = len(self.hub.requests)
        self.assert_got(self.archive(package), "a", {"metadata.json": METADATA})
        outcome = self.archive(package + b"changed")
        self.assertEqual(outcome.returncode, 1)
        self.assertIn(f"{hashlib.sha256(package).hexdigest()} of this model is stored, not ", outcome.stderr)
        self.assertEqual(len(self.hub.requests), count)
        origin = self.store / "a" / "download.json"
        origin.write_text(json.dumps({**json.loads(origin.read_text()), "revision": ""}))  # of an earlier version
        self.assertIn("an unknown revision of this model is stored", self.archive(package).stderr)

    def test_dry_run_downloads_nothing(self):
        self.assert_refused(self.get("en-de", "--dry-run"), "license: cc-by-4.0", code=0)
        self.assertFalse(self.store.exists())

    def test_a_revision_and_a_name_and_a_page(self):
        self.assert_got(self.get(f"hf:{NAME}@v1", "--name", "mine"), "mine")
        self.assertIn(f"/api/models/{NAME}/revision/v1", [path for _, path, _ in self.hub.requests])
        shutil.rmtree(self.store)
        self.assert_got(self.get(f"{self.hub.address}/{NAME}"), "opus-mt-en-de")

    def test_a_proxy_is_asked(self):
        self.assert_got(self.get("en-de", HF_ENDPOINT="http://hub.invalid", http_proxy=self.hub.address))

    def test_cut_connections_are_continued_by_ranges(self):
        self.hub.cut_after = 5000
        self.assert_got(self.get("en-de"))
        ranges = [headers for headers in self.file_requests() if "Range" in headers]
        self.assertEqual([headers["Range"] for headers in ranges], ["bytes=5000-", "bytes=10000-", "bytes=15000-"])
        self.assertTrue(all(headers["If-Range"].startswith('"') for headers in ranges))

    def test_a_server_that_ignores_ranges(self):
        self.hub.ignores_ranges = True
        self.hub.cut_after = 5000
        self.hub.mishaps.append(lambda handler, path: setattr(
            self.hub, "cut_after", None if "Range" in handler.headers else self.hub.cut_after))
        self.assert_got(self.get("en-de"))

    def secure_hub(self):
        """A server with https, whose archives need no checksum."""
        certificate = self.data / "certificate.pem"
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                   "-addext", "subjectAltName=DNS:localhost", "-keyout", certificate, "-out", self.data / "public.pem"]
        try:
            subprocess.run(command, capture_output=True, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            self.skipTest(f"openssl makes no certificate: {error}")
        with open(certificate, "ab") as file:
            file.write((self.data / "public.pem").read_bytes())
        hub = Hub(certificate)
        self.addCleanup(hub.close)
        self.environment["SSL_CERT_FILE"] = str(self.data / "public.pem")
        return hub

    def test_a_file_that_changes_between_two_parts(self):
        hub = self.secure_hub()

        def change(handler, _):
            if "Range" in handler.headers:
                hub.files["/a.zip"] = argos_package()
                hub.cut_after = None
            return False
        hub.mishaps.append(change)
        for hub.ignores_conditions, ranges in ((False, [None, "bytes=5000-"]), (True, [None, "bytes=5000-", None])):
            hub.files["/a.zip"] = zip_of({"README.md": random.Random(1).randbytes(20000)})
            hub.cut_after = 5000
            hub.requests.clear()
            self.assert_got(self.get(f"{hub.address}/a.zip"), "a", {"metadata.json": METADATA})
            self.assertEqual([headers.get("Range") for command, _, headers in hub.requests if command == "GET"], ranges)
            shutil.rmtree(self.store)

    def test_pointers_of_git_lfs_are_followed(self):
        hub = self.secure_hub()
        package = argos_package()
        pointer = (b"version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n"
                   % (hashlib.sha256(package).hexdigest().encode(), len(package)))
        hub.files.update({"/o/n/raw/main/a.zip": pointer, "/a.zip": pointer, "/o/n/resolve/main/a.zip": b"other"})
        self.assert_refused(self.get(f"{hub.address}/a.zip"), "pointer of Git LFS")
        self.assert_refused(self.get(f"{hub.address}/o/n/raw/main/a.zip"), "checksum differs")
        hub.files["/o/n/resolve/main/a.zip"] = package
        self.assert_got(self.get(f"{hub.address}/o/n/raw/main/a.zip"), "a", {"metadata.json": METADATA})

    def test_certificates_are_checked_and_https_stays_https(self):
        hub = self.secure_hub()
        self.hub.files["/a.zip"] = argos_package()
        hub.redirects["/a.zip"] = f"{self.hub.address}/a.zip"
        self.assert_refused(self.get(f"{hub.address}/a.zip"), "http")
        self.assertEqual(self.hub.requests, [])
        del self.environment["SSL_CERT_FILE"]
        self.assert_refused(self.get(f"{hub.address}/a.zip"), "certificate")

    def test_wrong_checksums(self):
        description = self.hub.describe(NAME)
        self.hub.describe = lambda _: description
        for file in ("model.safetensors", "vocab.json"):  # one with SHA-256, and one with git's
            with self.subTest(file):
                good = self.hub.models[NAME][file]
                self.hub.models[NAME][file] = good[:-1] + bytes([good[-1] ^ 1])
                self.assert_refused(self.get("en-de"), f"{file}: ", "checksum differs")
                self.hub.models[NAME][file] = good[:-1]
                self.assert_refused(self.get("en-de"), f"{file}: ", "but should have")
                self.hub.models[NAME][file] = good
        self.assert_got(self.get("en-de"))

    def test_a_damaged_part_is_downloaded_again(self):
        arriving = self.store / ".en-de.arriving" / "model"
        arriving.mkdir(parents=True)
        (arriving / "model.safetensors.part").write_bytes(b"x" * 9000)
        (arriving / "other.bin").write_bytes(b"of another model")
        self.assert_got(self.get("en-de"))

    def test_statuses(self):
        def status(code, headers=()):
            def mishap(handler, _):
                self.hub.send(handler, code, b"no", dict(headers))
                return True
            return mishap
        self.assert_refused(self.get("hf:nobody/nothing"), "404", "no such model")
        self.hub.mishaps = [status(401)]
        self.assert_refused(self.get("en-de"), "401", "HF_TOKEN")
        self.hub.mishaps = [status(429, {"Retry-After": "4000"}.items())]
        self.assert_refused(self.get("en-de"), "429", "4000 seconds")
        self.hub.mishaps = [status(429, {"Retry-After": "1"}.items()), status(503)]
        begin = time.monotonic()
        self.assert_got(self.get("en-de"))
        self.assertGreater(time.monotonic() - begin, 1.9)  # one second as asked, and one for 503

    def test_what_is_no_hub(self):
        self.hub.describe = lambda _: ["no", "model"]
        self.assert_refused(self.get("en-de"), "no description of a model")
        self.hub.describe = lambda _: {"sha": COMMIT, "siblings": [{"rfilename": "a.txt", "size": 1}]}
        self.assert_refused(self.get("en-de"), "no model that transmute reads")
        self.hub.describe = lambda _: {"sha": "../..", "siblings": []}
        self.assert_refused(self.get("en-de"), "no commit")
        self.hub.describe = lambda _: {"sha": COMMIT, "siblings": [
            {"rfilename": "model.safetensors", "size": 2**60, "blobId": "0" * 40}]}
        self.assert_refused(self.get("en-de"), "no size or no checksum")
        self.assert_refused(self.get("en-de", HF_ENDPOINT="hub"), "HF_ENDPOINT", code=2)

    def test_a_model_that_cannot_be_read_is_not_stored(self):
        self.hub.models[NAME]["config.json"] = b'{"model_type": "bert"}'
        self.assert_refused(self.get("en-de"), "no model that transmute can use")
        self.assertEqual([path.name for path in self.store.iterdir()], [".lock"])

    def archive(self, content, name="a.zip"):
        self.hub.files[f"/{name}"] = content
        return self.get(f"{self.hub.address}/{name}", "--sha256", hashlib.sha256(content).hexdigest())

    def test_packages_of_argos_translate_and_archives_of_marian(self):
        outcome = self.archive(argos_package(), "a.argosmodel")
        self.assert_got(outcome, "a", {"metadata.json": METADATA})
        self.assertIn("license: the source does not state it", outcome.stderr)
        translated = self.run_program("translate", "-m", "a", text="a b\n")
        expected = self.run_program("translate", "-m", FORMATS / "marian_ctranslate2", text="a b\n")
        self.assertEqual((translated.returncode, translated.stdout), (0, expected.stdout))
        shutil.rmtree(self.store)
        self.assertFalse((self.data / "transmute/models/a/stanza").exists())
        files = files_of(FORMATS / "npz")
        for mode, ending in (("w:gz", "tar.gz"), ("w:xz", "tar.xz")):
            packed = tar_of([(f"ende/{name}", content) for name, content in files.items()], mode)
            self.assert_got(self.archive(packed, f"b.{ending}"), "b", files)
            shutil.rmtree(self.store)

    def test_archives_of_training_programs_and_of_macos(self):
        for kind in ("fairseq", "joeynmt", "opennmt"):
            files = files_of(FORMATS / kind)
            packed = {f"Modèle/{name}": content for name, content in files.items()}
            apple = {f"__MACOSX/Modèle/._{name}": b"Mac" for name in files}
            self.assert_got(self.archive(zip_of({**packed, **apple, "README.md": b"", "LICENSE.txt": b""})), "a",
                            {"README.md": b"", "LICENSE.txt": b"", **files})
            shutil.rmtree(self.store)
            apple = [(f"Modèle/._{name}", b"Mac") for name in files] + [("._Modèle", b"Mac")]
            self.assert_got(self.archive(tar_of([*apple, *packed.items()]), "b.tar.gz"), "b", files)
            shutil.rmtree(self.store)

    def test_hostile_archives(self):
        link = tarfile.TarInfo("model/model.bin")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        hard = tarfile.TarInfo("model/model.bin")
        hard.type, hard.linkname = tarfile.LNKTYPE, "../../x"
        device = tarfile.TarInfo("model/model.bin")
        device.type = tarfile.CHRTYPE
        cases = [(zip_of({"../evil.json": b"x"}), "a.zip", "outside"),
                 (tar_of([("x/../../evil.json", b"x")]), "a.tar.gz", "outside"),
                 (tar_of([("/tmp/evil.json", b"x")]), "a.tar.gz", "absolute"),
                 (tar_of([(link, b"")]), "a.tar.gz", "link"), (tar_of([(hard, b"")]), "a.tar.gz", "link"),
                 (tar_of([(device, b"")]), "a.tar.gz", "neither a file nor a folder"),
                 (zip_of({"a.txt/b.txt": b"1", "A.h5": b"2"}), "a.zip", "no model that transmute can use"),
                 (tar_of([("a.txt", b"1"), ("a.txt", b"2")]), "a.tar.gz", "twice"),
                 (zip_of({"a.bin": bytes(200 << 20)}), "a.zip", "far larger"),
                 (zip_of({f"{i}.txt": b"" for i in range(1001)}), "a.zip", "more than 1000 entries"),
                 (zip_of({"a.h5": b"x"}), "a.zip", "no files of a model"),
                 (argos_package()[:-3000], "a.zip", "damaged"), (b"<html>", "a.tar.gz", "no archive")]
        for content, name, message in cases:
            with self.subTest(message):
                self.assert_refused(self.archive(content, name), message, "and was removed")
                self.assertEqual([path.name for path in self.store.iterdir()], [".lock"])
        self.assertEqual(list(self.data.rglob("*evil*")), [])

    def test_what_cannot_be_used_is_not_kept(self):
        self.hub.files["/a.zip"] = argos_package()
        self.assert_refused(self.get(f"{self.hub.address}/a.zip", "--sha256", "0" * 64), "checksum differs")
        self.assertEqual([path for path in self.store.rglob("*") if path.is_file()], [self.store / ".lock"])

    def test_an_archive_that_the_disk_has_no_space_to_unpack_is_kept(self):
        if subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("unshare is not allowed here")
        content = zip_of({**files_of(FORMATS / "npz"), "README.md": bytes(1 << 20)})
        self.hub.files["/a.zip"] = content
        outcome = self.run_program(
            "get", f"{self.hub.address}/a.zip", "--sha256", hashlib.sha256(content).hexdigest(),
            wrap=["unshare", "-rm", "sh", "-c", f'mount -t tmpfs -o size=256k tmpfs "{self.data}" && "$@"; code=$?; '
                  f'find "{self.store}" -name a.zip >&2; exit $code', "sh"])
        self.assert_refused(outcome, "a.arriving/a.zip\n")
        self.assertNotIn("was removed", outcome.stderr)

    def test_wrong_words(self):
        for words, message in [(["en-xx"], "--list"), (["hf:x"], "hf:OWNER/NAME"), (["hf:../x"], "hf:OWNER/NAME"),
                               (["en-de", "--name", "../x"], "no name"), ([], "name a model"),
                               (["http://h/a.zip"], "over http"), (["https://h/a.exe"], "no archive"),
                               (["en-de", "--sha256", "0" * 64], "for archives"),
                               (["https://h/a.zip", "--sha256", "0"], "no SHA-256"),
                               (["file:///a.zip"], "no model for")]:
            with self.subTest(words):
                self.assert_refused(self.get(*words), message, code=2)
        self.assertEqual(self.hub.requests, [])

    def test_kills_at_random_instants(self):
        self.model["README.md"] = random.Random(7).randbytes(600_000)
        self.hub.models[NAME]["README.md"] = self.model["README.md"]
        self.hub.delay = 0.005
        randomness = random.Random(3)
        resumed = 0
        for _ in range(20):
            self.hub.requests.clear()
            while not (self.store / "en-de").exists():
                process = subprocess.Popen([PROGRAMS / "get", "en-de"], env=self.environment, stdin=subprocess.DEVNULL,
                                           stderr=subprocess.PIPE, cwd=self.data)
                try:
                    _, errors = process.communicate(timeout=randomness.uniform(0, 0.4))
                    self.assertEqual(process.returncode, 0, errors)
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
                    process.communicate()
            resumed += any("Range" in headers for headers in self.file_requests())
            self.assert_got(self.get("en-de"))
            shutil.rmtree(self.store)
        self.assertGreater(resumed, 10)  # the kills met downloads

    def test_a_full_disk(self):
        if subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("unshare is not allowed here")
        outcome = self.run_program(
            "get", "en-de", wrap=["unshare", "-rm", "sh", "-c",
                                  f'mount -t tmpfs -o size=16k tmpfs "{self.data}" && exec "$@"', "sh"])
        self.assert_refused(outcome, "there is space for")

    def test_no_other_program_needs_a_network(self):
        self.get("en-de")
        if subprocess.run(["unshare", "-rn", "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("unshare is not allowed here")
        alone = self.run_program("translate", "-m", "en-de", text="a b\n", wrap=["unshare", "-rn"])
        self.assertEqual((alone.returncode, alone.stdout),
                         (0, self.run_program("translate", "-m", "en-de", text="a b\n").stdout))

    def test_no_other_program_links_libcurl(self):
        for program in PROGRAMS.glob("transmute*"):
            libraries = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
            if "libtorch" not in libraries:  # Debian's needs libcurl, by way of libraries that read images
                self.assertEqual("libcurl" in libraries, program.name == "transmute-get", program)


if __name__ == "__main__":
    unittest.main()
