import MailService
import ParseProtocol
import PushService
import Testing

/// The single list of order states, which bag, push, mail and analytics use.
@Suite struct OrderStatusTests {
    /// Earlier releases stored these numbers, and events contain them; a client knows only 0 and 1.
    @Test func numbersAndNamesStayWhatTheyAre() {
        let numbers = OrderStatus.allCases.map { [$0.rawValue, Int64($0.event), $0.wireStatus] }
        #expect(numbers == [[0, 0, 0], [1, 1, 1], [2, 2, 1], [3, 3, 1], [-1, -1, 1], [-2, -2, 1]])
        #expect(OrderStatus.ofMadeOrders.map(\.state) == ["made", "shipped", "delivered", "cancelled", "refunded"])
        #expect(OrderStatus(event: 4) == nil)
        #expect(OrderStatus(event: .min) == nil)
        #expect(OrderStatus(event: .max) == nil)
    }

    @Test(arguments: OrderStatus.allCases) func everyWrittenStateIsRead(_ status: OrderStatus) {
        #expect(OrderStatus(order: .object(status.fields)) == status)
        #expect(OrderStatus(event: status.event) == status)
        #expect(OrderStatus.isOpen(.object(status.fields)) == (status == .open))
        #expect(!(status.isPaid && status.isGivenUp))
    }

    @Test func anOrderThatDoesNotSayItIsNoBag() {
        #expect(!OrderStatus.isOpen([:]))
        #expect(OrderStatus(order: [:]) == nil)
    }

    /// If a service does not know a state, customers never get its news.
    @Test(arguments: OrderStatus.ofMadeOrders.filter { $0 != .made })
    func customersHearOfEveryStep(_ status: OrderStatus) throws {
        #expect(OrderTexts.changed(7, status: status.event)?.contains("7") == true)
        let state = try #require(status.state)
        #expect(MailTemplates.kinds["order-\(state)"] != nil, "\(state)")
    }
}
