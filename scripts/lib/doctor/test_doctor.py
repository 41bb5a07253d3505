"""python3 -m unittest discover scripts/lib/doctor: the rules, without a suite."""
import datetime
import os
import re
import sys
import tempfile
import unittest
import urllib.parse
from pathlib import Path

LIB = Path(__file__).resolve().parent.parent
sys.path += [str(LIB), str(LIB / "backup")]

import host
import rules
import settings as reference
import suite
from finding import FAIL, OK, WARN, fail, ok, warn, worst

TEXT = (LIB.parent.parent / "docs/reference/settings.md").read_text(encoding="utf-8")
DEFAULTS = reference.defaults(TEXT)
SAFE = {
    "SATCHEL_APP_ID": "our-shop", "SATCHEL_PUBLIC_URL": "https://our-shop.test/parse", "SATCHEL_TRUSTED_PROXIES": "127.0.0.1,::1",
    "SATCHEL_PAYMENTS": "stripe", "SATCHEL_STRIPE_SECRET_KEY": "sk_live_1", "SATCHEL_STRIPE_WEBHOOK_SECRET": "whsec_1",
    "SATCHEL_MAIL": "smtp", "SATCHEL_MAIL_FROM": "shop@our-shop.test", "SATCHEL_PUSH": "apns",
}


def found(**changes):
    environment = SAFE | {f"SATCHEL_{name}": value for name, value in changes.items()}
    return [(finding.state, finding.topic) for finding in rules.check(rules.Settings(environment, DEFAULTS))]


class Settings(unittest.TestCase):
    def test_each_setting_that_the_doctor_reads_has_a_default_in_the_reference(self):
        for file in ("rules.py", "__main__.py"):
            for name in re.findall(r'\["(SATCHEL_\w+)"\]', (LIB / "doctor" / file).read_text(encoding="utf-8")):
                with self.subTest(name):
                    self.assertIn(name, DEFAULTS)

    def test_defaults_are_those_of_the_table(self):
        self.assertEqual([DEFAULTS[f"SATCHEL_{name}"] for name in ("HOST", "PAYMENTS", "APP_ID", "CURRENCY", "TRUSTED_PROXIES")],
                         ["127.0.0.1", "sandbox", "satchel", "usd", ""])

    def test_a_misspelt_setting_is_named_with_the_similar_one(self):
        self.assertEqual(list(reference.unknown(TEXT, {"SATCHEL_SHOPNAME": "x", "SATCHEL_MAIL": "smtp", "HOME": "/"})),
                         ["SATCHEL_SHOPNAME is not a setting; did you mean SATCHEL_SHOP_NAME?"])

    def test_a_shop_with_these_settings_is_fine(self):
        self.assertEqual(found(), [(OK, "settings")])

    def test_a_shop_without_settings_is_not(self):
        every = rules.check(rules.Settings({}, DEFAULTS))
        self.assertEqual({finding.topic for finding in every if finding.state == FAIL}, {"payments", "mail", "public URL"})
        self.assertEqual({finding.topic for finding in every if finding.state == WARN}, {"app id"})
        self.assertTrue(all(finding.remedy for finding in every))

    def test_each_unsafe_setting_is_found(self):
        for changes, wanted in (
                ({"APP_ID": "satchel"}, (WARN, "app id")), ({"PAYMENTS": "sandbox"}, (FAIL, "payments")),
                ({"STRIPE_SECRET_KEY": "sk_test_1"}, (FAIL, "payments")), ({"STRIPE_WEBHOOK_SECRET": ""}, (WARN, "payments")),
                ({"MAIL": "spool"}, (FAIL, "mail")), ({"MAIL_FROM": ""}, (FAIL, "mail")),
                ({"APNS_URL": "https://api.sandbox.push.apple.com"}, (WARN, "push")), ({"LOG_LEVEL": "debug"}, (WARN, "log")),
                ({"PUBLIC_URL": ""}, (FAIL, "public URL")), ({"TRUSTED_PROXIES": ""}, (FAIL, "proxy")),
                ({"TRUSTED_PROXIES": "127.0.0.1, 0.0.0.0/0"}, (FAIL, "proxy")), ({"TRUSTED_PROXIES": "::/0"}, (FAIL, "proxy")),
                ({"HOST": "0.0.0.0"}, (WARN, "proxy")), ({"SMTP_PASSWORD": "CHANGE_ME"}, (FAIL, "settings")),
                ({"MAIL_FROM": "orders@shop.example"}, (FAIL, "settings"))):
            with self.subTest(str(changes)):
                self.assertEqual(found(**changes), [wanted])

    def test_a_plain_public_address_needs_no_proxy(self):
        self.assertEqual(found(PUBLIC_URL="http://10.0.0.1:1337/parse", TRUSTED_PROXIES="", HOST="10.0.0.1"), [(OK, "settings")])


class Host(unittest.TestCase):
    def test_other_users_may_read_neither_data_nor_keys(self):
        with tempfile.TemporaryDirectory() as data:
            key = Path(data, "master.key")
            key.write_text("secret", encoding="utf-8")
            key.chmod(0o600)
            files = {str(key), str(Path(data, "users.key"))}
            self.assertEqual([finding.state for finding in host.permissions(data, files)], [OK])
            key.chmod(0o640)
            os.chmod(data, 0o755)
            seen = host.permissions(data, files)
            self.assertEqual([finding.remedy for finding in seen], [f"chmod 700 {data}", f"chmod 600 {key}"])

    @unittest.skipIf(os.geteuid(), "needs root")
    def test_files_belong_to_the_owner_of_the_folder(self):
        with tempfile.TemporaryDirectory() as data:
            database = Path(data, "bag.sqlite")
            database.touch(mode=0o600)
            os.chown(database, 12345, -1)
            self.assertEqual([finding.remedy for finding in host.permissions(data, [str(database)])],
                             [f"chown --reference={data} {database}"])

    def test_a_gateway_has_files_for_its_connections(self):
        limits = "Limit  Soft Limit  Hard Limit  Units\nMax open files            {}                 65536                files\n"
        for soft, state in (("65536", OK), ("5120", OK), ("unlimited", OK), ("4096", WARN)):
            with self.subTest(soft):
                self.assertEqual(host.open_files(limits.format(soft), 4096).state, state)

    def test_a_certificate_is_renewed_in_time(self):
        for whole in (90, 47, 6, 0.5):
            seen = [host.certificate(whole * left, whole).state for left in (0.9, 0.33, 0.24, 0.1, 0.08, -1)]
            self.assertEqual(seen, [OK, OK, WARN, WARN, FAIL, FAIL])

    def test_an_address_without_a_server_is_said(self):
        seen = list(host.public_url(urllib.parse.urlsplit("https://127.0.0.1:9/parse")))
        self.assertEqual([(finding.state, finding.topic) for finding in seen], [(FAIL, "public URL")])

    def test_only_a_gateway_answers_health(self):
        self.assertTrue(host.leads_here(b'{"status":"ok","services":{}}'))
        for text in (b"<html>", b"[]", b'{"status":"ok"}', b""):
            self.assertFalse(host.leads_here(text))

    def test_the_clock_of_the_kernel_counts(self):
        self.assertEqual([host.clock(state).state for state in (0, host.TIME_ERROR, -1)], [OK, WARN, WARN])
        self.assertIsInstance(host.clock_state(), int)

    def test_a_disk_has_room(self):
        self.assertEqual(host.disk("/proc").state, FAIL)


class Suite(unittest.TestCase):
    NOW = datetime.datetime(2026, 11, 29, 12, tzinfo=datetime.timezone.utc)

    def test_each_service_that_is_not_healthy_is_named(self):
        healthy, down = '{"status":"ok","replicas":1}', '{"status":"missing","replicas":0}'
        limited = '{"status":"degraded","problem":"Nearly full."}'
        text = '{"status":"degraded","services":{"bag":%s,"mail":%s,"users":%s}}'
        seen = suite.health(text % (healthy, limited, down), "users")
        self.assertEqual([(finding.state, finding.text) for finding in seen],
                         [(WARN, "mail is degraded. Nearly full."), (FAIL, "users is missing.")])
        every = text % (healthy, healthy, healthy)
        self.assertEqual([finding.state for finding in suite.health(every, "")], [OK])
        self.assertEqual([finding.state for finding in suite.health(every, "bag 1/2")], [FAIL])
        self.assertEqual([finding.state for finding in suite.health("", "gateway")], [FAIL])

    def test_findings_of_the_gateway_are_passed_on(self):
        good = {"title": "Keys are long", "state": "success"}
        bad = {"title": "Schema", "state": "fail", "warning": "Clients create classes.", "solution": "Close it."}
        report = {"groups": [{"name": "Keys", "checks": [good]}, {"name": "Classes", "checks": [bad]},
                             {"name": "Quotas", "checks": [bad]}]}
        self.assertEqual([(finding.state, finding.text, finding.remedy) for finding in suite.security(report)],
                         [(state, "Clients create classes.", "Close it.") for state in (FAIL, WARN)])
        self.assertEqual([finding.state for finding in suite.security({"groups": report["groups"][:1]})], [OK])

    def test_a_spool_is_no_fault_until_devices_wait_for_pushes(self):
        self.assertEqual([[finding.state for finding in suite.spooled_pushes(count)] for count in (0, 3)], [[], [WARN]])

    def backup(self, hours, **others):
        at = self.NOW - datetime.timedelta(hours=hours)
        return {"at": at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"), "folder": "/b/1", "lostFiles": 0, **others}

    def test_a_backup_is_young(self):
        for hours, state in ((1, OK), (25, OK), (30, WARN), (60, FAIL)):
            with self.subTest(hours):
                self.assertEqual([finding.state for finding in suite.backup(self.backup(hours), self.NOW)], [state])
        self.assertEqual([finding.state for finding in suite.backup(None, self.NOW)], [FAIL])
        self.assertEqual([finding.state for finding in suite.backup(self.backup(1, lostFiles=2), self.NOW)], [OK, WARN])

    def test_the_last_readable_line_is_the_last_backup(self):
        with tempfile.TemporaryDirectory() as data:
            self.assertIsNone(suite.last_backup(data))
            Path(data, "backups.log").write_text('{"at":"1"}\n{"at":"2"}\n{"at"', encoding="utf-8")
            self.assertEqual(suite.last_backup(data), {"at": "2"})

    def test_a_backup_on_the_disk_of_the_data_is_no_second_copy(self):
        with tempfile.TemporaryDirectory() as data:
            last = self.backup(1, folder=data)
            self.assertEqual([finding.state for finding in suite.off_site(last, data)],
                             [FAIL] if os.access(suite.OFF_SITE, os.X_OK) else [WARN])
            self.assertEqual(suite.off_site(self.backup(1, folder="/proc"), data), [])


    def test_the_last_copy_to_another_host_is_young(self):
        self.assertEqual([suite.copied(hours).state for hours in (1, 25, 30, 60, None)], [OK, OK, WARN, FAIL, FAIL])
        with tempfile.TemporaryDirectory() as data:
            self.assertIsNone(suite.hours_since_copy(data))
            Path(data, suite.BACKUP_COPIED).touch()
            self.assertLess(suite.hours_since_copy(data), 1)


class Report(unittest.TestCase):
    def test_a_line_has_the_state_the_fact_and_the_remedy(self):
        self.assertEqual(warn("disk", "It is full.", "Free space.").line(), "warn  disk: It is full. Free space.")
        self.assertEqual(ok("disk", "It is empty.").line(), "ok    disk: It is empty.")

    def test_the_worst_state_counts(self):
        good, bad, worse = ok("a", "b"), warn("a", "b", "c"), fail("a", "b", "c")
        self.assertEqual([worst(each) for each in ([], [good], [good, bad], [worse, bad])], [OK, OK, WARN, FAIL])


if __name__ == "__main__":
    unittest.main()
