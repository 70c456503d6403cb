#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares deploy/kubernetes/simulate_load.py with what queueing theory knows of simple cases.

usage: simulate_load_test.py simulate_load.py
"""
import subprocess
import sys

STEADY = ["--swing", "0", "--deviation", "0", "--bursts-a-day", "0", "--sentences", "1", "--length-deviation", "0"]
ONE_THREAD = ["--threads", "1", "--min-replicas", "1", "--max-replicas", "1"]


def simulated(*flags):
    """The row of all hours: requests, refused, mean latency, median, 99th percentile, mean pods, most pods."""
    output = subprocess.run([sys.executable, sys.argv[1], *STEADY, *flags], check=True, capture_output=True, text=True)
    row = next(line for line in output.stdout.splitlines() if line.startswith(" all"))
    return [float(number) for number in row.split()[1:]]


def expect(what, value, expected, tolerance):
    if abs(value - expected) > tolerance * expected:
        sys.exit(f"{what}: {value}, not {expected} within {tolerance:.0%}")


# Ten requests a second of 50 ms each, one at a time: M/D/1 with a load of a half waits rho s / (2 (1 - rho)) = 25 ms.
one_by_one = [*ONE_THREAD, "--batch-size", "1", "--fixed-ms", "0", "--sentence-ms", "50"]
requests, refused, mean, *_ = simulated("--sentences-a-day", "864000", *one_by_one, "--hours", "3")
expect("requests in 3 hours", requests, 108000, 0.01)
expect("refused requests", refused + 1, 1, 0)
expect("mean latency of M/D/1", mean, 0.075, 0.03)

# With twice what the thread can do, half of the requests are refused, and the others wait for a full queue.
requests, refused, mean, *_ = simulated("--sentences-a-day", str(40 * 86400), *one_by_one, "--max-queue", "100",
                                    "--hours", "0.5")
expect("share of refused requests", refused / (requests + refused), 0.5, 0.01)
expect("latency behind a full queue", mean, 101 * 0.05, 0.03)

# The autoscaler starts what a steady load needs that ten threads can do, and no more than it may.
requests, refused, *_, most = simulated("--sentences-a-day", str(200 * 86400), "--threads", "1", "--min-replicas", "1",
                                        "--max-replicas", "14", "--batch-size", "1", "--fixed-ms", "0", "--sentence-ms",
                                        "50", "--max-queue", "100000", "--hours", "0.2")
expect("refused requests", refused + 1, 1, 0)
if not 10 <= most <= 14:
    sys.exit(f"{most} pods for the work of ten")
print("the simulation agrees with queueing theory")
