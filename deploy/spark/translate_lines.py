# SPDX-License-Identifier: Apache-2.0
"""Translates a large text on Apache Spark: every line of INPUT becomes a line of OUTPUT/part-*, in order.

    spark-submit deploy/spark/translate_lines.py --model /models/en-de --input corpus.en --output corpus.de \
      --partitions 400 -- --precision int8 --beam-size 1

Each partition goes through one process of `transmute-translate`, which must be installed on the executors, next to the
model. A task that is lost is run again; translations do not depend on how the text is cut, so the output stays the same.
"""
import argparse
import subprocess
import tempfile

from pyspark.sql import SparkSession


def translate_partition(command, replaces_invalid):
    """Translates an iterator of lines by one process. Input goes through a file: neither side can block the other."""

    def translate(lines):
        with tempfile.TemporaryFile() as text:
            count = 0
            for line in lines:
                if "\N{REPLACEMENT CHARACTER}" in line and not replaces_invalid:
                    raise ValueError(f"a line has U+FFFD, which Spark makes of invalid UTF-8: {line[:200]!r}; repair the "
                                     "text, or accept it with -- --invalid-utf8 replace")
                text.write(line.encode() + b"\n")
                count += 1
            if count == 0:
                return
            text.seek(0)
            with subprocess.Popen(command, stdin=text, stdout=subprocess.PIPE) as process:
                for line in process.stdout:
                    count -= 1
                    yield line.decode().rstrip("\n")
            if process.returncode != 0 or count != 0:
                raise RuntimeError(f"{command[0]} ended with {process.returncode}; {count} translations are missing")

    return translate


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True, help="a model folder, at the same place on every executor")
    parser.add_argument("--input", required=True, help="a UTF-8 text that Spark can read, one segment a line")
    parser.add_argument("--output", required=True, help="a folder that does not exist yet")
    parser.add_argument("--translate", default="transmute-translate", help="the program on the executors")
    parser.add_argument("--threads", type=int, default=1, help="per task; set spark.task.cpus to the same number")
    parser.add_argument("--partitions", type=int, default=0,
                        help="at least this many; 0 leaves it to Spark: two, or one for each block of the file")
    parser.add_argument("flags", nargs="*", help="further flags of transmute-translate, after --")
    arguments = parser.parse_args()
    command = [arguments.translate, "--model", arguments.model, "--threads", str(arguments.threads), *arguments.flags]
    # Hadoop would also end a line at each carriage return, which is within a line for transmute.
    builder = SparkSession.builder.appName("transmute").config("spark.hadoop.textinputformat.record.delimiter", "\n")
    spark = builder.getOrCreate()
    lines = spark.sparkContext.textFile(arguments.input, arguments.partitions or None)
    replaces_invalid = "--invalid-utf8 replace" in " ".join(arguments.flags).replace("=", " ")
    lines.mapPartitions(translate_partition(command, replaces_invalid)).saveAsTextFile(arguments.output)
    spark.stop()


if __name__ == "__main__":
    main()
