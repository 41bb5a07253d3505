"""The comparison of the clients' log with the data."""
import copy
import unittest

from compare import compare, subset_sums

ORDER = {"what": "order", "orderId": "o1", "orderNo": 1000001, "total": 700, "userId": "u1", "items": [["p1", 2]]}
REFUND = {"what": "refund", "orderId": "o1", "amount": 300, "pending": False}
TOLD = [ORDER, REFUND, {"what": "stock", "productId": "p1", "amount": 5}]
DATA = {
    "orders": [{"objectId": "o1", "orderNo": 1000001, "total": 700, "refundedTotal": 300, "userId": "u1"}],
    "charges": [("o1", 700)], "refunds": [("o1", 300)], "refusedRefunds": [],
    "provider": {"charges": [["o1", 700]], "refunds": [["o1", 300]], "events": ["e1"], "undelivered": 0, "violations": []},
    "events": [("e1", "known")], "opening": {"p1": 100}, "stock": {"p1": 103}, "mails": [1000001], "sales": ["o1"],
}


def provider(**changes):
    return DATA["provider"] | changes


class Comparison(unittest.TestCase):
    def found(self, told=None, **changes):
        return compare(TOLD if told is None else told, copy.deepcopy(DATA) | changes)

    def expect(self, part, told=None, **changes):
        findings = self.found(told, **changes)
        self.assertTrue(any(part in finding for finding in findings), findings)

    def test_a_right_shop_has_no_findings(self):
        self.assertEqual(self.found(), [])

    def test_an_empty_shop_has_none(self):
        nothing = {name: [] for name in DATA if name not in ("opening", "stock", "provider")}
        nothing["provider"] = provider(charges=[], refunds=[], events=[])
        self.assertEqual(compare([], nothing | {"opening": {"p1": 9}, "stock": {"p1": 9}}), [])

    def test_a_lost_order(self):
        self.expect("acknowledged orders are lost: o1", orders=[])

    def test_an_order_that_no_client_was_given(self):
        other = DATA["orders"][0] | {"objectId": "o2", "orderNo": 1000002}
        self.expect("no client was given these orders: o2", orders=[*DATA["orders"], other])
        findings = self.found([*TOLD, {"what": "open", "userId": "u1", "items": []}], orders=[*DATA["orders"], other])
        self.assertFalse(any("no client" in finding for finding in findings), findings)

    def test_a_wrong_total_and_number(self):
        self.expect("total 700, the shop 701", orders=[DATA["orders"][0] | {"total": 701}])
        self.expect("orderNo 1000001, the shop 5", orders=[DATA["orders"][0] | {"orderNo": 5}])

    def test_a_number_that_is_given_twice(self):
        self.expect("given twice: 1000001", orders=[*DATA["orders"], DATA["orders"][0] | {"objectId": "o2"}])

    def test_two_purchases_with_the_same_order(self):
        self.expect("answered with the same order: o1", [*TOLD, ORDER])

    def test_a_charge_that_is_missing_or_made_twice(self):
        self.expect("has 0 charges of 0", charges=[])
        self.expect("has 2 charges of 1400", charges=[("o1", 700)] * 2)

    def test_a_charge_without_an_order_must_be_refunded(self):
        more = {"charges": [("o1", 700), ("o9", 50)], "provider": provider(charges=[("o1", 700), ("o9", 50)])}
        self.expect("no order o9, but a charge of 50, of which 0", **more)
        refunds = [("o1", 300), ("o9", 50)]
        more["provider"]["refunds"] = refunds
        self.assertEqual(self.found(**more, refunds=refunds), [])

    def test_a_provider_with_other_charges_or_refunds(self):
        self.expect("provider has charges that payments has not", provider=provider(charges=[("o1", 700)] * 2))
        self.expect("payments has charges that the provider has not", provider=provider(charges=[]))
        self.expect("provider has refunds that payments has not", provider=provider(refunds=[("o1", 300)] * 2))

    def test_a_refund_that_is_missing_or_made_twice(self):
        self.expect("payments made 0", refunds=[], provider=provider(refunds=[]))
        self.expect("payments made 600", refunds=[("o1", 300)] * 2, provider=provider(refunds=[("o1", 300)] * 2))
        self.expect("the order has 0", orders=[DATA["orders"][0] | {"refundedTotal": 0}])

    def test_a_pending_refund_is_made_or_refused(self):
        told = [ORDER, TOLD[2], REFUND | {"pending": True}]
        self.assertEqual(self.found(told), [])
        orders = [DATA["orders"][0] | {"refundedTotal": 0}]
        none = {"orders": orders, "refunds": [], "provider": provider(refunds=[])}
        self.assertEqual(self.found(told, **none, refusedRefunds=[("o1", 300)]), [])
        self.expect("300 were pending", told, **none)
        self.expect("has 300 as refused", told, refusedRefunds=[("o1", 300)])
        self.expect("has 300 as refused", None, **none, refusedRefunds=[("o1", 300)])

    def test_a_refund_that_was_refused_at_once(self):
        told = [*TOLD, {"what": "denied", "orderId": "o1", "amount": 50}]
        self.assertEqual(self.found(told, refusedRefunds=[("o1", 50)]), [])
        self.expect("50 refused", told)

    def test_events_of_the_provider(self):
        self.expect("events that it has not: e1", events=[])
        self.expect("events twice: e1", events=[("e1", "known")] * 2)
        self.expect("event e1 is `contradiction`", events=[("e1", "contradiction")])
        self.expect("3 events of the provider were not delivered", provider=provider(undelivered=3))
        self.expect("asked wrongly: POST", provider=provider(violations=["POST /v1/refunds: missing"]))
        # The shop took it, and was killed before it answered.
        self.assertEqual(self.found(events=[*DATA["events"], ("e2", "decided")]), [])

    def test_wrong_stock(self):
        self.expect("has 102 pieces and should have 103", stock={"p1": 102})
        self.expect("has None pieces", stock={})

    def test_a_change_of_stock_without_an_answer_may_have_happened(self):
        maybe = [{"what": "maybe", "productId": "p1", "amount": amount} for amount in (7, 11)]
        for more in (0, 7, 11, 18):
            self.assertEqual(self.found(TOLD + maybe, stock={"p1": 103 + more}), [])
        self.expect("some of [7, 11] more", TOLD + maybe, stock={"p1": 107})

    def test_an_unanswered_checkout_explains_its_own_items_only(self):
        told = [*TOLD, {"what": "open", "userId": "u1", "items": [["p1", 3], ["p2", 1]]}]
        for stock in (103, 100):
            self.assertEqual(self.found(told, stock={"p1": stock}), [])
        for stock in (102, 106):
            self.expect("should have 103", told, stock={"p1": stock})
        self.expect("should have 103", [*TOLD, {"what": "open", "userId": "u1", "items": [["p2", 3]]}], stock={"p1": 100})

    def test_a_mail_and_a_sale_once_each(self):
        self.expect("confirmation mails are missing: 1000001", mails=[])
        self.expect("confirmation mails are too many: 1000001", mails=[1000001] * 2)
        self.expect("sales in analytics are missing: o1", sales=[])

    def test_sums_of_subsets(self):
        self.assertEqual(subset_sums([]), {0})
        self.assertEqual(subset_sums([1, 1, 5]), {0, 1, 2, 5, 6, 7})
        self.assertEqual(len(subset_sums([50] * 1000)), 1001)


if __name__ == "__main__":
    unittest.main()
