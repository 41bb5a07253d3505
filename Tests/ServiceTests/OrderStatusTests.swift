import MailService
import ParseProtocol
import PushService
import Testing

/// One list of what can become of an order, which bag, push, mail and analytics read.
@Suite struct OrderStatusTests {
    /// The numbers are stored by earlier releases and travel in events; a client knows only 0 and 1.
    @Test func numbersAndNamesStayWhatTheyAre() {
        let numbers = OrderStatus.allCases.map { [$0.rawValue, Int64($0.event), $0.wireStatus] }
        #expect(numbers == [[0, 0, 0], [1, 1, 1], [2, 2, 1], [3, 3, 1], [-1, -1, 1], [-2, -2, 1]])
        #expect(OrderStatus.ofMadeOrders.map(\.state) == ["made", "shipped", "delivered", "cancelled", "refunded"])
        #expect(OrderStatus(event: 4) == nil)
        #expect(OrderStatus(event: .min) == nil)
        #expect(OrderStatus(event: .max) == nil)
    }

    @Test(arguments: OrderStatus.allCases) func whatIsWrittenIsRead(_ status: OrderStatus) {
        #expect(OrderStatus(order: .object(status.fields)) == status)
        #expect(OrderStatus(event: status.event) == status)
        #expect(OrderStatus.isOpen(.object(status.fields)) == (status == .open))
        #expect(!(status.isPaid && status.isGivenUp))
    }

    @Test func anOrderThatDoesNotSayItIsNoBag() {
        #expect(!OrderStatus.isOpen([:]))
        #expect(OrderStatus(order: [:]) == nil)
    }

    /// A state that one service knows and another does not is news that customers never hear.
    @Test(arguments: OrderStatus.ofMadeOrders.filter { $0 != .made })
    func customersHearOfEveryStep(_ status: OrderStatus) throws {
        #expect(OrderTexts.changed(7, status: status.event)?.contains("7") == true)
        let state = try #require(status.state)
        #expect(MailTemplates.models["order-\(state)"] != nil, "\(state)")
    }
}
