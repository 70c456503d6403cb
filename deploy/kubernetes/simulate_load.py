#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Simulates a day of `serve` under deploy/kubernetes/serve.yaml: latencies, cores and refused requests for each hour.

    deploy/kubernetes/simulate_load.py --sentences-a-day 10e6 --max-replicas 10

A thread that becomes free takes the oldest sentences of its pod as one batch, as `serve` does. A batch of n sentences
takes --fixed-ms + n * --sentence-ms on one thread; measure both with benchmark_translate. Requests reach a random pod,
as behind kube-proxy. The autoscaler sees the queues as they were --metric-age seconds ago, and follows Kubernetes'
rules: every 15 s, with a tolerance of a tenth, at most four pods or twice as many at once, and down only to the highest
number that it wanted in the last 300 s.
"""
import argparse
import collections
import heapq
import math
import random

SYNC_SECONDS, TOLERANCE, LARGEST_STEP, STABILIZATION_SECONDS = 15, 0.1, 4, 300
HOUR, DAY = 3600, 86400


class Pod:
    """A process of `serve`: a queue, and threads that take batches from it."""

    def __init__(self, threads):
        self.queue = collections.deque()
        self.free = threads
        self.leaves = False


class Request:
    """A text whose sentences are translated in any batches."""

    __slots__ = ("arrival", "missing")

    def __init__(self, arrival, sentences):
        self.arrival = arrival
        self.missing = sentences


class Rate:
    """Requests per second: a day's curve, minutes that differ from it, and bursts of two minutes."""

    def __init__(self, options, chance):
        self.mean = options.sentences_a_day / options.sentences / DAY
        self.swing, self.burst, self.deviation = options.swing, options.burst, options.deviation
        self.minutes = []
        level = 0.0
        for minute in range(DAY // 60):
            level = 0.8 * level + math.sqrt(1 - 0.8**2) * chance.gauss(0, self.deviation)
            factor = math.exp(level - self.deviation**2 / 2)
            in_burst = options.bursts_a_day > 0 and minute % max(2, 1440 // options.bursts_a_day) < 2
            self.minutes.append(factor * (self.burst if in_burst else 1))
        self.highest = self.mean * (1 + self.swing) * max(self.minutes)

    def at(self, time):
        curve = 1 + self.swing * math.sin(2 * math.pi * (time / DAY - 9 / 24))  # highest at 15:00
        return self.mean * curve * self.minutes[int(time / 60) % len(self.minutes)]


class Simulation:
    """Events in the order of time: an arrival, a batch's end, a pod's start, a look of the autoscaler."""

    def __init__(self, options):
        self.options = options
        self.chance = random.Random(options.seed)
        self.rate = Rate(options, self.chance)
        self.pods = [Pod(options.threads) for _ in range(options.min_replicas)]
        self.starting = 0
        self.seen = collections.deque()  # sums of queues, by time
        self.wanted = collections.deque()  # the autoscaler's numbers of pods, by time
        self.events, self.count = [], 0
        self.hours = collections.defaultdict(lambda: {"latencies": [], "refused": 0, "pod_seconds": 0.0, "pods": 0})

    def later(self, time, act, *what):
        self.count += 1
        heapq.heappush(self.events, (time, self.count, act, what))

    def run(self):
        begin = self.options.from_hour * HOUR
        self.next_arrival(begin)
        self.later(begin + SYNC_SECONDS, self.scale)
        end = begin + self.options.hours * HOUR
        while self.events:
            time, _, act, what = heapq.heappop(self.events)
            if time >= end:
                break
            act(time, *what)
        return self.hours

    def next_arrival(self, time):
        while True:  # thinning (Lewis and Shedler, 1979)
            time += self.chance.expovariate(self.rate.highest)
            if self.chance.random() * self.rate.highest <= self.rate.at(time):
                return self.later(time, self.arrive)

    def arrive(self, time):
        self.next_arrival(time)
        sentences = 1
        if self.options.sentences > 1:
            sentences += int(math.log(1 - self.chance.random()) / math.log(1 - 1 / self.options.sentences))
        pod = self.chance.choice([pod for pod in self.pods if not pod.leaves])
        if len(pod.queue) + sentences > self.options.max_queue:
            self.hours[int(time // HOUR)]["refused"] += 1
            return
        pod.queue.extend([Request(time, sentences)] * sentences)
        self.start_batches(time, pod)

    def start_batches(self, time, pod):
        while pod.free > 0 and pod.queue:
            batch = [pod.queue.popleft() for _ in range(min(len(pod.queue), self.options.batch_size))]
            pod.free -= 1
            milliseconds = self.options.fixed_ms + sum(self.sentence_ms() for _ in batch)
            self.later(time + milliseconds / 1000, self.finish, pod, batch)

    def sentence_ms(self):
        deviation = self.options.length_deviation
        return self.options.sentence_ms * math.exp(self.chance.gauss(-deviation**2 / 2, deviation))

    def finish(self, time, pod, batch):
        pod.free += 1
        for request in batch:
            request.missing -= 1
            if request.missing == 0:
                self.hours[int(request.arrival // HOUR)]["latencies"].append(time - request.arrival)
        self.start_batches(time, pod)
        self.remove_if_done(pod)

    def remove_if_done(self, pod):
        if pod.leaves and pod.free == self.options.threads:
            self.pods.remove(pod)

    def scale(self, time):
        self.later(time + SYNC_SECONDS, self.scale)
        serving = [pod for pod in self.pods if not pod.leaves]
        present = len(serving) + self.starting
        hour = self.hours[int(time // HOUR)]
        hour["pod_seconds"] += SYNC_SECONDS * (len(self.pods) + self.starting)
        hour["pods"] = max(hour["pods"], present)
        self.seen.append((time, sum(len(pod.queue) for pod in serving)))
        while len(self.seen) > 1 and self.seen[1][0] <= time - self.options.metric_age:
            self.seen.popleft()
        want = self.seen[0][1] / self.options.target
        want = present if abs(want / present - 1) <= TOLERANCE else math.ceil(want)
        want = min(max(want, self.options.min_replicas), self.options.max_replicas)
        self.wanted.append((time, want))
        while self.wanted[0][0] < time - STABILIZATION_SECONDS:
            self.wanted.popleft()
        if want > present:
            for _ in range(min(want, max(2 * present, present + LARGEST_STEP)) - present):
                self.starting += 1
                self.later(time + self.options.start_seconds, self.start_pod)
        for pod in serving[max(number for _, number in self.wanted) :]:
            pod.leaves = True
            self.remove_if_done(pod)

    def start_pod(self, _):
        self.starting -= 1
        self.pods.append(Pod(self.options.threads))


def quantile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else float("nan")


def print_row(name, latencies, refused, mean_pods, most_pods):
    mean = sum(latencies) / len(latencies) if latencies else float("nan")
    print(f"{name:>4}  {len(latencies):8}  {refused:7}  {mean:6.3f}  {quantile(latencies, 0.5):6.3f}"
          f"  {quantile(latencies, 0.99):6.3f}  {mean_pods:6.1f} {most_pods:4}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0] + ".")
    add = parser.add_argument
    add("--sentences-a-day", type=float, default=10e6)
    add("--from-hour", type=float, default=0, help="hour of the day at which the simulation begins")
    add("--hours", type=float, default=24, help="simulated hours")
    add("--sentences", type=float, default=3, help="mean number in a request (geometric)")
    add("--fixed-ms", type=float, default=27.4, help="time of a batch on one thread")
    add("--sentence-ms", type=float, default=12.6, help="further time of each sentence in a batch")
    add("--length-deviation", type=float, default=0.6, help="standard deviation of the logarithm of a sentence's time")
    add("--threads", type=int, default=4, help="threads of a pod")
    add("--batch-size", type=int, default=64)
    add("--max-queue", type=int, default=4096, help="sentences that may wait in a pod")
    add("--min-replicas", type=int, default=2)
    add("--max-replicas", type=int, default=10)
    add("--target", type=float, default=8, help="waiting sentences per pod")
    add("--start-seconds", type=float, default=10, help="time from the decision to a pod that serves")
    add("--metric-age", type=float, default=30, help="seconds until the autoscaler sees a queue")
    add("--swing", type=float, default=0.8, help="relative height of the day's curve around its mean")
    add("--deviation", type=float, default=0.3, help="standard deviation of the logarithm of a minute's rate")
    add("--bursts-a-day", type=int, default=12, help="bursts of two minutes each")
    add("--burst", type=float, default=3, help="factor on the requests during a burst")
    add("--seed", type=int, default=1)
    options = parser.parse_args()
    hours = Simulation(options).run()
    print("hour  requests  refused  mean s   p50 s   p99 s  pods (mean, most)")
    latencies, refused, pod_seconds, most_pods = [], 0, 0.0, 0
    for hour, found in sorted(hours.items()):
        latencies += found["latencies"]
        refused += found["refused"]
        pod_seconds += found["pod_seconds"]
        most_pods = max(most_pods, found["pods"])
        print_row(hour, found["latencies"], found["refused"], found["pod_seconds"] / HOUR, found["pods"])
    print_row("all", latencies, refused, pod_seconds / HOUR / options.hours, most_pods)
    print(f"{pod_seconds * options.threads / HOUR:.0f} core-hours")


if __name__ == "__main__":
    main()
