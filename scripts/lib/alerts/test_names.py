"""Whether the alert rules and the Grafana board use only metrics and labels that the sources declare."""
import json
import re
import subprocess
import unittest
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[3]
RULES = ROOT / "compose/prometheus/rules.yml"
RULES_TEST = ROOT / "compose/prometheus/rules_test.yml"
BOARD = ROOT / "compose/grafana/satchel.json"
SUFFIXES = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}
# Labels and metrics that Prometheus adds.
OWN_LABELS = {"instance", "job", "le", "alertname", "alertstate"}
OWN_METRICS = {"up", "ALERTS"}


def sources():
    files = (file for folder in ("Shared", "Services") for file in (ROOT / folder).rglob("*.swift"))
    return [file.read_text(encoding="utf-8") for file in files]


def declared(texts):
    """The names of samples of each `Metric("…", .kind, …)`."""
    found = (match for text in texts for match in re.finditer(r'\bMetric\(\s*"(satchel_\w+)",\s*\.(\w+)', text))
    return {match[1] + suffix for match in found for suffix in SUFFIXES[match[2]]}


def labels(texts):
    """The labels of pages, of figures and of counted events."""
    names = set()
    for text in texts:
        if "MetricsPage" in text:
            names |= set(re.findall(r'\(name: "(\w+)", value:', text))
        for figure in re.findall(r"\bFigure\(\.[^\n]*", text):
            names |= set(re.findall(r'\["(\w+)":', figure))
        for event in re.findall(r"\bMetric\.\w+\.count\([^\n]*", text):
            names |= set(re.findall(r'\("(\w+)",', event))
    return names


def rules():
    return [rule for group in yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"] for rule in group["rules"]]


def board():
    return json.loads(BOARD.read_text(encoding="utf-8"))


def targets():
    return [target for panel in board()["panels"] for target in panel.get("targets", ())]


def expressions():
    return [rule["expr"] for rule in rules()] + [target["expr"] for target in targets()]


def bare(expression):
    """Without texts, in which anything may stand."""
    return re.sub(r'"[^"]*"', '""', expression)


def used_labels(expression):
    text = bare(expression)
    lists = re.findall(r"\b(?:by|on|without|ignoring)\s*\(([^)]*)\)", text)
    matchers = re.findall(r"\{([^}]*)\}", text)
    return set(re.findall(r"\w+", " ".join(lists))) | set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", " ".join(matchers)))


class Names(unittest.TestCase):
    def setUp(self):
        texts = sources()
        self.metrics, self.labels = declared(texts), labels(texts) | OWN_LABELS

    def test_the_sources_declare_metrics(self):
        self.assertIn("satchel_http_request_duration_seconds_bucket", self.metrics)
        self.assertIn("satchel_mails_total", self.metrics)
        self.assertLessEqual({"service", "process", "status", "outcome", "state", "kind", "queue"}, self.labels)

    def test_rules_and_board_use_only_these(self):
        for expression in expressions():
            with self.subTest(expression):
                names = set(re.findall(r"\b(?:satchel_\w+|up|ALERTS)\b", bare(expression)))
                self.assertTrue(names)
                self.assertLessEqual(names, self.metrics | OWN_METRICS)
                self.assertLessEqual(used_labels(expression), self.labels)

    def test_the_series_of_the_rules_tests_exist(self):
        tests = yaml.safe_load(RULES_TEST.read_text(encoding="utf-8"))["tests"]
        for series in {series["series"] for test in tests for series in test["input_series"]}:
            with self.subTest(series):
                self.assertIn(series.partition("{")[0], self.metrics | OWN_METRICS)
                self.assertLessEqual(used_labels(series), self.labels)

    def test_each_alert_is_raised_by_a_test(self):
        tests = RULES_TEST.read_text(encoding="utf-8")
        for rule in rules():
            self.assertIn(f'alertname="{rule["alert"]}"', tests)
            self.assertTrue(rule["annotations"]["runbook"].endswith(f"#{rule['alert'].lower()}"))


class Board(unittest.TestCase):
    def test_each_metric_is_on_it(self):
        shown = " ".join(target["expr"] for target in targets())
        names = {match[1] for text in sources() for match in re.finditer(r'\bMetric\(\s*"(satchel_\w+)"', text)}
        # The clock is for an alert, the release for the choice of gateways.
        missing = {name for name in names if name not in shown} - {"satchel_process_clock_seconds", "satchel_build_info"}
        self.assertEqual(missing, set())

    def test_panels_have_ids_places_and_the_chosen_gateways(self):
        panels = board()["panels"]
        self.assertEqual(len({panel["id"] for panel in panels}), len(panels))
        places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels]
        self.assertEqual(len(set(places)), len(places))
        for target in targets():
            self.assertEqual(target["datasource"]["uid"], "${datasource}")
            for selector in re.findall(r"satchel_\w+(\{[^}]*\})?", target["expr"]):
                self.assertIn('instance=~"$instance"', selector)

    def test_prometheus_understands_its_expressions(self):
        """As rules, with values in place of Grafana's variables."""
        exprs = [target["expr"].replace("$__rate_interval", "1m").replace("$instance", ".*") for target in targets()]
        groups = [{"name": "board", "rules": [{"record": f"board:{n}", "expr": e} for n, e in enumerate(exprs)]}]
        checked = subprocess.run(
            ["promtool", "check", "rules", "/dev/stdin"], input=json.dumps({"groups": groups}), capture_output=True, text=True)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)


if __name__ == "__main__":
    unittest.main()
