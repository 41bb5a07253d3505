"""python3 -m unittest discover scripts/lib/capacity: the arithmetic."""
import json
import re
import unittest
from pathlib import Path

import tables
from costs import FOLDER, SERVICES, Costs
from sizing import Demand, Sizing

COSTS = Costs.read()
EVERY_HOW = {"measured", "derived", "estimated"}


def sizing(orders=10_000, pace="busy", cores=None, conversion=None, **others):
    return Sizing(COSTS, Demand.of(COSTS, orders=orders, conversion=conversion, **others), pace=pace, cores=cores)


class Figures(unittest.TestCase):
    def test_each_kind_says_where_it_was_measured(self):
        for name, kind in COSTS.kinds.items():
            with self.subTest(name):
                self.assertTrue(kind["from"] and kind["command"].startswith("scripts/"))
                self.assertIn(kind["how"], EVERY_HOW)
                self.assertLessEqual(set(kind["processor"]), set(SERVICES))

    def test_every_other_group_of_figures_says_where_it_is_from(self):
        groups = {name: group for name, group in COSTS.figures.items() if isinstance(group, dict) and name != "kinds"}
        for name, group in groups.items():
            with self.subTest(name):
                self.assertIn(group["how"], EVERY_HOW)
                self.assertTrue(group.get("from") or group.get("note"))

    def test_the_shoppers_run_is_that_of_the_document(self):
        text = (FOLDER.parent.parent.parent / "docs/internals/measurements.md").read_text(encoding="utf-8")
        run = COSTS.figures["shoppersRun"]
        self.assertIn(run["command"], text)
        sentences = (r"was (\d+) requests a second.*?Ten minutes at (\d+) a second.*?"
                     r"p50 ([\d.]+) ms, p99 (\d+) ms")
        found = re.search(sentences, text, re.DOTALL)
        self.assertIsNotNone(found)
        self.assertEqual(
            [float(each) for each in found.groups()], [run["limit"], run["rate"], run["p50Ms"], run["p99Ms"]])

    def test_the_walk_makes_the_shares_that_were_counted(self):
        # Anonymous users left out: the run had few accounts, so that more of its shoppers were new.
        each, counted = COSTS.requests_per_visit, COSTS.figures["shoppersRun"]["steps"]
        for step in set(counted) - {"enter"}:
            with self.subTest(step):
                self.assertAlmostEqual(
                    each[step] / sum(each.values()), counted[step] / sum(counted.values()), delta=0.006)

    def test_a_visit_has_as_many_requests_as_its_habits_say(self):
        self.assertAlmostEqual(sum(COSTS.requests_per_visit.values()), COSTS.habits["visitRequests"], delta=0.1)

    def test_searches_and_the_rest_are_what_the_catalog_used(self):
        run = COSTS.figures["shoppersRun"]
        used = COSTS.run_rates["search"] * COSTS.search_seconds + COSTS.busy(COSTS.run_rates, "catalog")
        self.assertAlmostEqual(used, run["processors"]["catalog"])
        mean = COSTS.long_share * 0.195 + (1 - COSTS.long_share) * 0.006
        self.assertAlmostEqual(mean, COSTS.search_seconds)


class Arithmetic(unittest.TestCase):
    def test_rates_are_visits_times_what_a_visit_asks_for(self):
        found = sizing(orders=86_400, conversion=0.5, peak=3, pictures=10, events=2, signins=0.25)
        self.assertAlmostEqual(found.demand.visits_a_second, 6)
        self.assertAlmostEqual(found.rates["checkout"], 3)
        self.assertAlmostEqual(found.rates["picture"], 60)
        self.assertAlmostEqual(found.rates["event"], 12)
        self.assertAlmostEqual(found.rates["signin"], 1.5)
        self.assertAlmostEqual(found.rates["browse"], 6 * COSTS.requests_per_visit["browse"])

    def test_shoppers_and_orders_are_two_ways_to_say_the_same(self):
        visits = 10_000 / COSTS.requests_per_visit["checkout"]
        self.assertAlmostEqual(Demand.of(COSTS, shoppers=visits).orders, 10_000)
        self.assertAlmostEqual(sizing(orders=10_000).demand.visits, visits)

    def test_processors_are_rates_times_costs(self):
        found = sizing(orders=86_400, conversion=1, peak=1)
        self.assertAlmostEqual(found.processors["mail"], 863e-6)
        self.assertAlmostEqual(found.processors["payments"], 391e-6)

    def test_a_quiet_shop_costs_what_its_shoppers_did(self):
        visits = 131 / sum(COSTS.requests_per_visit.values()) * 86_400
        demand = Demand.of(COSTS, shoppers=visits, peak=1, pictures=0, events=0, signins=0)
        found = Sizing(COSTS, demand, pace="quiet").processors
        for process, used in COSTS.figures["shoppersRun"]["processors"].items():
            with self.subTest(process):
                self.assertAlmostEqual(found[process], used, delta=used * 0.25)

    def test_a_hash_takes_as_long_at_any_pace(self):
        quiet, busy = (sizing(orders=1000, pace=pace, signins=1) for pace in ("quiet", "busy"))
        self.assertEqual(quiet.hashing, busy.hashing)
        self.assertGreater(busy.hashing, 0.9 * busy.processors["users"])
        rest = busy.processors["users"] - busy.hashing
        self.assertAlmostEqual(quiet.processors["users"] - quiet.hashing, rest * COSTS.factors["users"])

    def test_everything_but_the_processes_grows_with_the_orders(self):
        small, large = sizing(orders=1000), sizing(orders=10_000)
        for name in ("messages", "network", "connections", "long_reads"):
            with self.subTest(name):
                self.assertAlmostEqual(getattr(large, name), 10 * getattr(small, name))
        self.assertAlmostEqual(large.disk(), 10 * small.disk())
        self.assertAlmostEqual(small.disk() - small.disk(spool=False), 1000 * 8000)

    def test_disk_is_of_a_day_whatever_its_peak(self):
        self.assertAlmostEqual(sizing(peak=2).disk(), sizing(peak=8).disk())

    def test_a_group_has_the_writes_that_come_during_its_commit(self):
        found = sizing(orders=40_000_000, peak=1)
        group, service = found.group("bag"), "bag"
        self.assertGreater(group, 1.5)
        cycle = found.commit_seconds(service) + group * found.write_seconds(service)
        self.assertAlmostEqual(found.writes(service) * cycle, group)
        self.assertAlmostEqual(found.commits(service) * cycle, 1)

    def test_a_quiet_writer_commits_each_write_alone(self):
        found = sizing(orders=1000)
        self.assertEqual(found.group("bag"), 1)
        self.assertAlmostEqual(found.commits("bag"), found.writes("bag"))

    def test_replicas_keep_readers_below_the_utilisation(self):
        for orders in (100, 100_000, 1_000_000):
            with self.subTest(orders):
                found = sizing(orders=orders)
                self.assertLessEqual(found.long_reads / found.replicas["catalog"], found.utilisation + 1e-9)
                self.assertEqual(found.replicas["users"], 1)
                passed = found.costs.figures["gateway"]["brokerPassed"]
                self.assertLessEqual(found.messages / found.replicas["gateway"], passed)

    def test_the_first_bottleneck_is_reached_at_the_load_that_is_named(self):
        first = sizing(orders=10_000, cores=2).bottlenecks[0]
        there = sizing(orders=10_000 * first.room, cores=2).bottlenecks[0]
        self.assertEqual(there.name, first.name)
        self.assertAlmostEqual(there.room, 1)

    def test_more_processors_move_that_bottleneck_and_no_other(self):
        rooms = [{each.name: each.room for each in sizing(cores=cores).bottlenecks} for cores in (4, 8)]
        self.assertAlmostEqual(rooms[1]["processors"], 2 * rooms[0]["processors"])
        self.assertEqual(rooms[1]["the writer of bag"], rooms[0]["the writer of bag"])


class Report(unittest.TestCase):
    def test_it_names_the_first_bottleneck_and_its_orders(self):
        found = sizing()
        first = found.bottlenecks[0]
        self.assertIn(f"First: {first.name}, at {10_000 * first.room:,.0f} orders a day", tables.report(found))

    def test_numbers_are_shown_with_the_digits_that_tell_something(self):
        self.assertEqual([tables.number(each) for each in (12345.6, 12.34, 1.234, 0.01234, 0)],
                         ["12,346", "12.3", "1.23", "0.012", "0"])
        self.assertEqual([tables.size(each) for each in (12, 1_200, 27.2e9)], ["12 B", "1.2 KB", "27.2 GB"])

    def test_the_data_is_json_that_keeps_each_figure_once(self):
        def refuse_repeated(pairs):
            self.assertEqual(len(pairs), len(dict(pairs)))
            return dict(pairs)

        json.loads(Path(FOLDER / "costs.json").read_text(encoding="utf-8"), object_pairs_hook=refuse_repeated)


if __name__ == "__main__":
    unittest.main()
