import BagService
import ParseProtocol
import ServiceKit
import ServiceSupport
import Testing

/// A refund that the provider refused waits for an operator.
@Suite struct ParkedRefundTests {
    /// A bag with a paid order whose refund was refused.
    private static func refused(
        _ step: OrderLifecycle.Step
    ) async throws -> (bag: BagStore, kind: ParkedKind, order: String, id: String) {
        let (bag, order) = try await BagStore.paid()
        let id = try await bag.begin(step, order, reason: "Broken", restock: true)
        let payments = RefundPayments(refusal: ParseError(.scriptFailed, "The charge is disputed."))
        _ = await bag.runner(payments).outcome(of: id, within: .seconds(20))
        return (bag, ParkedRefunds(orders: bag.orders) { _ in }.kind, order, id)
    }

    private static func parked(_ kind: ParkedKind, _ bag: BagStore) async throws -> [ParkedKind.Item] {
        let (items, count) = try await bag.store.read { (try kind.list(10, $0), try kind.count($0)) }
        #expect(count == Int64(items.count))
        return items
    }

    private static func pending(_ bag: BagStore) async throws -> String? {
        try await bag.store.read { reader in
            try reader.rows("SELECT id FROM refunds WHERE state = 'pending'", []).first?.text("id")
        }
    }

    @Test func itIsMadeAgainUnderAnotherId() async throws {
        let (bag, kind, order, id) = try await Self.refused(.refund(200))
        let item = try #require(try await Self.parked(kind, bag).first)
        #expect(item.id == id)
        #expect(item.reason == "The charge is disputed.")
        #expect(item.more["orderId"] == .string(order))
        #expect(item.more["amount"] == 200)
        #expect(try await bag.store.write { try kind.retry(id, $0) }?.id == id)
        #expect(try await Self.parked(kind, bag).isEmpty)
        let next = try #require(try await Self.pending(bag))
        #expect(next != id)
        #expect(await bag.runner(RefundPayments()).outcome(of: next, within: .seconds(20)) == .done)
        let document = try #require(await bag.document("Order", order))
        #expect(document["refundedTotal"] == 200)
        #expect(document["refundState"] == "done")
        #expect(try await bag.store.write { try kind.retry(id, $0) } == nil, "It is no longer parked.")
    }

    @Test func aCancellationIsMadeAgainAsLongAsTheOrderAllowsIt() async throws {
        let (bag, kind, order, id) = try await Self.refused(.cancel)
        _ = try await bag.perform(.ship(Shipment()), order)
        #expect(await parseCode { _ = try await bag.store.write { try kind.retry(id, $0) } } == 142)
        #expect(try await Self.parked(kind, bag).map(\.id) == [id])
        let (other, otherKind, otherOrder, otherId) = try await Self.refused(.cancel)
        _ = try await other.store.write { try otherKind.retry(otherId, $0) }
        let next = try #require(try await Self.pending(other))
        #expect(await other.runner(RefundPayments()).outcome(of: next, within: .seconds(20)) == .done)
        #expect(try await other.document("Order", otherOrder)?["orderState"] == "cancelled")
    }

    @Test func aDroppedOneStaysInTheTimeline() async throws {
        let (bag, kind, order, id) = try await Self.refused(.refund(200))
        #expect(try await bag.store.write { try kind.drop(id, $0) }?.id == id)
        #expect(try await bag.store.write { try kind.drop(id, $0) } == nil)
        #expect(try await Self.parked(kind, bag).isEmpty)
        #expect(try await bag.refunds.list(order, for: nil).arrayValue?.first?["state"] == "failed")
    }

    @Test func aSmallerRefundOfTheOrderLeavesItParked() async throws {
        let (bag, kind, order, id) = try await Self.refused(.cancel)
        let small = try await bag.begin(.refund(1), order)
        #expect(await bag.runner(RefundPayments()).outcome(of: small, within: .seconds(20)) == .done)
        #expect(try await Self.parked(kind, bag).map(\.id) == [id])
        let rest = try await bag.begin(.refund(nil), order)
        #expect(await bag.runner(RefundPayments()).outcome(of: rest, within: .seconds(20)) == .done)
        #expect(try await Self.parked(kind, bag).isEmpty, "Nothing is left to refund.")
    }

    /// The operator refunds the same again with the order's button.
    @Test func theSameRefundByHandReplacesIt() async throws {
        let (bag, kind, order, id) = try await Self.refused(.refund(200))
        let item = try #require(await bag.document("Order", order)?.at("items", 0, "objectId")?.stringValue)
        let lines = try await bag.begin([item: 1], order)
        let refusing = RefundPayments(refusal: ParseError(.scriptFailed, "No."))
        _ = await bag.runner(refusing).outcome(of: lines, within: .seconds(20))
        #expect(try await Set(Self.parked(kind, bag).map(\.id)) == [id, lines])
        let sameLines = try await bag.begin([item: 1], order)
        #expect(await bag.runner(RefundPayments()).outcome(of: sameLines, within: .seconds(20)) == .done)
        #expect(try await Self.parked(kind, bag).map(\.id) == [id])
        let sameAmount = try await bag.begin(.refund(200), order)
        #expect(await bag.runner(RefundPayments()).outcome(of: sameAmount, within: .seconds(20)) == .done)
        #expect(try await Self.parked(kind, bag).isEmpty)
        #expect(try await bag.document("Order", order)?["refundedTotal"] == 550)
    }

    @Test func piecesThatAnotherRefundNamesAreNotPaidTwice() async throws {
        let (bag, order) = try await BagStore.paid()
        let kind = ParkedRefunds(orders: bag.orders) { _ in }.kind
        let item = try #require(await bag.document("Order", order)?.at("items", 0, "objectId")?.stringValue)
        let both = try await bag.begin([item: 2], order)
        let refusing = RefundPayments(refusal: ParseError(.scriptFailed, "No."))
        _ = await bag.runner(refusing).outcome(of: both, within: .seconds(20))
        let one = try await bag.begin([item: 1], order)
        #expect(await bag.runner(RefundPayments()).outcome(of: one, within: .seconds(20)) == .done)
        let error = await #expect(throws: ParseError.self) {
            _ = try await bag.store.write { try kind.retry(both, $0) }
        }
        #expect(error?.code == .validationError)
        #expect(error?.message.contains(one) == true)
        #expect(try await Self.parked(kind, bag).map(\.id) == [both])
    }

    /// Both may be owed to the customer.
    @Test func aLargerRefundOfTheOrderLeavesItParked() async throws {
        let (bag, kind, order, id) = try await Self.refused(.refund(200))
        let second = try await bag.begin(.refund(300), order)
        let payments = RefundPayments(refusal: ParseError(.scriptFailed, "No."))
        _ = await bag.runner(payments).outcome(of: second, within: .seconds(20))
        #expect(try await Set(Self.parked(kind, bag).map(\.id)) == [id, second])
        let third = try await bag.begin(.refund(250), order)
        #expect(await bag.runner(RefundPayments()).outcome(of: third, within: .seconds(20)) == .done)
        #expect(try await Set(Self.parked(kind, bag).map(\.id)) == [id, second])
    }
}
