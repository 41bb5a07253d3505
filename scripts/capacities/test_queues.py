"""python3 -m unittest discover scripts/capacities: the simulation beside what is known of such queues."""
import math
import random
import unittest
from types import SimpleNamespace

import trials
from costs import Costs
from queues import Clock, Servers, Together, Visit, Writer, arrivals, percentile
from shop import Shop
from sizing import Demand, Sizing

NUMBER = 50_000


def mean(numbers):
    return sum(numbers) / len(numbers)


def waits(rate, service, servers=1, number=NUMBER, seed=7):
    """Waits of customers who come by chance to servers with that time of service."""
    clock, dice = Clock(), random.Random(seed)
    station = Servers(clock, "one", servers)
    arrivals(clock, rate, number, lambda _: station.enter(service(dice), lambda: None), dice)
    clock.run()
    return station.waits


def erlang_c(load, servers):
    """The probability to wait in M/M/c."""
    terms = [load ** each / math.factorial(each) for each in range(servers + 1)]
    last = terms[-1] * servers / (servers - load)
    return last / (sum(terms[:-1]) + last)


class Theory(unittest.TestCase):
    def test_waits_of_m_m_1(self):
        for load in (0.3, 0.5, 0.7):
            with self.subTest(load):
                found = waits(load, lambda dice: dice.expovariate(1))
                self.assertAlmostEqual(mean(found) / (load / (1 - load)), 1, delta=0.08)

    def test_the_part_that_waits_longer_in_m_m_1_falls_as_it_should(self):
        found = waits(0.6, lambda dice: dice.expovariate(1))
        longer = sum(each > 2 for each in found) / len(found)
        self.assertAlmostEqual(longer / (0.6 * math.exp(-0.4 * 2)), 1, delta=0.08)

    def test_waits_of_m_d_1_are_half_of_those(self):
        for load in (0.3, 0.5, 0.7):
            with self.subTest(load):
                found = waits(load, lambda _: 1.0)
                self.assertAlmostEqual(mean(found) / (load / (1 - load) / 2), 1, delta=0.08)

    def test_waits_of_m_m_4(self):
        found = waits(2.8, lambda dice: dice.expovariate(1), servers=4)
        self.assertAlmostEqual(mean(found) / (erlang_c(2.8, 4) / (4 - 2.8)), 1, delta=0.1)

    def test_servers_are_busy_as_their_rates_say(self):
        clock, dice = Clock(), random.Random(3)
        station = Servers(clock, "two", 2)
        arrivals(clock, 1.0, NUMBER, lambda _: station.enter(0.5, lambda: None), dice)
        clock.run()
        self.assertAlmostEqual(station.utilisation(clock.now), 0.25, delta=0.01)


class Commits(unittest.TestCase):
    COMMIT, WRITE, MOST = 1.0, 0.01, 50

    def run_writer(self, rate, number=20_000, most=MOST):
        clock, dice, times = Clock(), random.Random(5), []
        writer = Writer(clock, "writer", self.COMMIT, most)
        arrivals(clock, rate, number, lambda _: Visit(clock, [(writer, self.WRITE)], times.append), dice)
        clock.run()
        return writer, times, clock.now

    def test_a_lonely_write_takes_a_commit_and_itself(self):
        writer, times, _ = self.run_writer(0.001, number=200)
        self.assertEqual(writer.commits, 200)
        self.assertAlmostEqual(max(times), self.COMMIT + self.WRITE)

    def test_below_the_bound_nobody_waits_longer_than_the_group_before(self):
        # 20 a second: groups of some 25, far below 50. Whoever comes waits for one group at most, and is in the next.
        writer, times, _ = self.run_writer(20)
        self.assertLessEqual(max(times), 2 * (self.COMMIT + self.MOST * self.WRITE))
        self.assertAlmostEqual(writer.writes / writer.commits, 20 * self.COMMIT / (1 - 20 * self.WRITE), delta=2)

    def test_a_full_writer_does_no_more_than_its_bound(self):
        bound = self.MOST / (self.COMMIT + self.MOST * self.WRITE)
        writer, _, end = self.run_writer(2 * bound)
        self.assertEqual(writer.writes, 20_000)
        self.assertLessEqual(writer.writes / end, bound)
        self.assertGreater(writer.writes / end, 0.98 * bound)

    def test_groups_of_one_are_m_d_1(self):
        writer, _, _ = self.run_writer(0.6 / (self.COMMIT + self.WRITE), number=NUMBER, most=1)
        self.assertAlmostEqual(mean(writer.waits) / (0.75 * (self.COMMIT + self.WRITE)), 1, delta=0.08)

    def test_who_comes_at_the_same_moment_is_in_the_same_group(self):
        clock = Clock()
        writer = Writer(clock, "writer", 1.0, 50)
        for _ in range(30):
            writer.enter(0.0, lambda: None)
        clock.run()
        self.assertEqual((writer.commits, clock.now), (1, 1.0))


class Parts(unittest.TestCase):
    def test_a_visit_takes_its_stages_one_after_the_other(self):
        clock, times = Clock(), []
        one, two = Servers(clock, "one"), Servers(clock, "two")
        Visit(clock, [(one, 1.0), (two, 2.0), (one, 0.5)], times.append)
        clock.run()
        self.assertEqual(times, [3.5])

    def test_who_came_first_is_next(self):
        clock, ended = Clock(), []
        one = Servers(clock, "one")
        for name, seconds in (("a", 3.0), ("b", 1.0), ("c", 2.0)):
            one.enter(seconds, lambda name=name: ended.append((name, clock.now)))
        clock.run()
        self.assertEqual(ended, [("a", 3.0), ("b", 4.0), ("c", 6.0)])

    def test_stations_together_have_the_mean_of_their_use(self):
        clock = Clock()
        one, two = Servers(clock, "one"), Servers(clock, "two")
        one.enter(4.0, lambda: None)
        two.enter(2.0, lambda: None)
        clock.run()
        both = Together("both", [one, two])
        self.assertEqual((both.servers, both.utilisation(4.0), both.waits), (2, 0.75, [0.0, 0.0]))

    def test_percentiles_are_of_the_numbers(self):
        self.assertEqual([percentile(range(1, 101), part) for part in (0.5, 0.99)], [51, 100])
        self.assertEqual(percentile([], 0.5), 0)


class Shops(unittest.TestCase):
    COSTS = Costs.read()
    OPTIONS = SimpleNamespace(seed=1, requests=20_000, p99=250, utilisation=0.6)

    def shop(self, orders, load=1.0, **others):
        return Shop(Sizing(self.COSTS, Demand.of(self.COSTS, orders=orders)), load, **others)

    def test_every_kind_is_answered_and_every_write_is_committed(self):
        shop = self.shop(1_000_000).run(20_000)
        self.assertEqual([kind for kind, times in shop.times.items() if not times], [])
        bag = shop.writers["bag"]
        self.assertEqual(bag.writes, len(bag.waits))
        self.assertAlmostEqual(bag.writes / shop.seconds / shop.sizing.writes("bag"), 1, delta=0.15)

    def test_stations_are_as_busy_as_the_arithmetic_says(self):
        shop = self.shop(1_000_000).run(40_000)
        asked = shop.sizing.long_reads / shop.sizing.replicas["catalog"]
        self.assertAlmostEqual(shop.long.utilisation(shop.seconds) / asked, 1, delta=0.15)
        processors = sum(each.busy for each in (shop.loops, shop.bus)) / shop.seconds
        self.assertAlmostEqual(processors / shop.sizing.processors["gateway"], 1, delta=0.1)

    def test_the_same_seed_is_the_same_run(self):
        one, two = (self.shop(100_000, seed=9).run(2_000).times for _ in range(2))
        self.assertEqual(one, two)

    def test_a_checkout_waits_for_each_of_its_commits(self):
        shop = self.shop(100).run(5_000)
        commits = 4 * shop.sizing.costs.figures["writers"]["commitMicroseconds"] / 1e6
        self.assertGreater(min(shop.times["checkout"]), commits)

    def test_twice_the_load_that_it_is_made_for_breaks_it(self):
        self.assertLess(trials.p99(self.shop(1_000_000).sizing, 1, self.OPTIONS), 0.3)
        self.assertGreater(trials.p99(self.shop(1_000_000).sizing, 2.2, self.OPTIONS), 0.5)

    def test_what_was_measured_is_met_within_a_quarter(self):
        run = self.COSTS.figures["shoppersRun"]
        sizing = trials.measured_run(self.COSTS, self.OPTIONS)
        one = dict.fromkeys(sizing.replicas, 1)
        times = trials.shoppers_times(Shop(sizing, seed=1, replicas=one).run(40_000))
        self.assertAlmostEqual(percentile(times, 0.99) * 1000 / run["p99Ms"], 1, delta=0.25)

    def test_a_day_has_its_peak_and_its_mean(self):
        for peak in (1.5, 4, 8):
            with self.subTest(peak):
                rates = trials.curve(peak)
                self.assertAlmostEqual(max(rates), peak, delta=0.01)
                self.assertAlmostEqual(mean(rates), 1)


if __name__ == "__main__":
    unittest.main()
