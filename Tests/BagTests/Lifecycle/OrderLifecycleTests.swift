import BagService
import ParseProtocol
import Testing

/// The permitted steps of an order in every state, without a store.
@Suite struct OrderLifecycleTests {
    typealias Step = OrderLifecycle.Step
    typealias Decision = OrderLifecycle.Decision

    /// A paid order of 19.00.
    static func order(
        _ status: OrderStatus, refundedAmount: Int64 = 0, goods: OrderDimensions.Fulfillment? = nil
    ) -> OrderLifecycle {
        var order = OrderLifecycle(status, charged: 1900)
        order.refundedAmount = refundedAmount
        if let goods { order.fulfillment = goods }
        return order
    }

    static let steps: [Step] = [.ship(Shipment()), .deliver, .cancel, .refund(nil)]

    /// For each status, the result of each step in `steps`; nil is a refusal.
    static let table: [(OrderLifecycle, [Decision?])] = [
        (order(.open), [nil, nil, nil, nil]),
        (
            order(.made),
            [.change(.shipped), nil, .refund(1900, then: .cancelled), .refund(1900, then: .refunded)]
        ),
        (order(.shipped), [.nothing, .change(.delivered), nil, .refund(1900, then: .refunded)]),
        (order(.delivered), [nil, .nothing, nil, .refund(1900, then: .refunded)]),
        (order(.cancelled, refundedAmount: 1900), [nil, nil, .nothing, nil]),
        // The bank reversed a refund of it.
        (order(.cancelled, refundedAmount: 500), [nil, nil, .nothing, .refund(1400, then: .refunded)]),
        (order(.refunded, refundedAmount: 1900), [nil, nil, .change(.cancelled), .nothing]),
        (order(.refunded, refundedAmount: 1900, goods: .shipped), [.nothing, .change(.delivered), nil, .nothing]),
        (order(.refunded, refundedAmount: 1900, goods: .delivered), [nil, .nothing, nil, .nothing]),
        (
            order(.made, refundedAmount: 500),
            [.change(.shipped), nil, .refund(1400, then: .cancelled), .refund(1400, then: .refunded)]
        ),
        (order(.shipped, refundedAmount: 500), [.nothing, .change(.delivered), nil, .refund(1400, then: .refunded)]),
    ]

    @Test(arguments: table)
    func eachStepIsTakenRefusedOrRepeated(order: OrderLifecycle, decisions: [Decision?]) throws {
        try #require(decisions.count == Self.steps.count)
        for (step, decision) in zip(Self.steps, decisions) {
            #expect((try? order.decide(step)) == decision, "\(step) of \(order)")
        }
    }

    @Test(arguments: [
        (OrderStatus.open, "The order is still in the bag and cannot be shipped."),
        (.delivered, "The order is delivered and cannot be shipped."),
        (.cancelled, "The order is cancelled and cannot be shipped."),
        (.refunded, "The order is refunded and cannot be shipped."),
    ])
    func aRefusalSaysTheState(status: OrderStatus, text: String) {
        #expect(throws: ParseError(.validationError, text)) { try Self.order(status).decide(.ship(Shipment())) }
    }

    @Test func whatWasNotShippedIsNotDelivered() {
        #expect(throws: ParseError(.validationError, "The order is placed and not shipped yet.")) {
            try Self.order(.made).decide(.deliver)
        }
    }

    /// Orders, and whether their tracking can be corrected.
    static let ways: [(OrderLifecycle, Bool)] = [
        (order(.made), false), (order(.delivered), false), (order(.cancelled, refundedAmount: 1900), false),
        (order(.shipped, refundedAmount: 500), true),
    ]

    @Test(arguments: ways)
    func theTrackingOfAnOrderOnItsWayIsCorrected(order: OrderLifecycle, isOnItsWay: Bool) {
        var shipment = Shipment()
        shipment.trackingNumber = "PP-8"
        let (correction, repetition): (Decision?, Decision?) =
            isOnItsWay ? (.correct(shipment), .nothing) : (nil, nil)
        #expect((try? order.decide(.correctTracking(shipment))) == correction)
        var corrected = order
        corrected.shipment = shipment
        #expect((try? corrected.decide(.correctTracking(shipment))) == repetition)
    }

    @Test func unknownStatusesPermitNoStep() {
        for step in Self.steps {
            #expect(throws: ParseError.self) { try OrderLifecycle(nil).decide(step) }
        }
    }

    @Test func shippingAgainIsTheSameOnlyWithTheSameWords() throws {
        var order = Self.order(.shipped)
        order.shipment.carrier = "Post"
        #expect(try order.decide(.ship(order.shipment)) == .nothing)
        #expect(try order.decide(.ship(Shipment())) == .nothing)
        var other = Shipment()
        other.carrier = "Ship"
        #expect(throws: ParseError.self) { try order.decide(.ship(other)) }
    }

    // MARK: Money

    static let amounts: [(OrderLifecycle, Int64?, Decision?)] = [
        (order(.shipped), 1, .refund(1, then: .refunded)),
        (order(.shipped), 1900, .refund(1900, then: .refunded)),
        (order(.shipped), 1901, nil),
        (order(.shipped), .max, nil),
        (order(.shipped), 0, nil),
        (order(.shipped), -1, nil),
        (order(.shipped, refundedAmount: 500), 500, .refund(500, then: .refunded)),
        (order(.shipped, refundedAmount: 500), 1400, .refund(1400, then: .refunded)),
        (order(.shipped, refundedAmount: 500), 1401, nil),
        (order(.refunded, refundedAmount: 1900), 1900, nil),
        (order(.refunded, refundedAmount: 1900), 500, nil),
    ]

    @Test(arguments: amounts)
    func neverMoreGoesBackThanWasPaid(order: OrderLifecycle, amount: Int64?, decision: Decision?) {
        #expect((try? order.decide(.refund(amount))) == decision)
    }

    @Test func anImportedOrderHasNothingToGiveBack() throws {
        #expect(try OrderLifecycle(.made).decide(.cancel) == .change(.cancelled))
        #expect(try OrderLifecycle(.refunded).decide(.refund(nil)) == .nothing)
        for amount in [nil, 0, 5] as [Int64?] {
            let error = #expect(throws: ParseError.self) { try OrderLifecycle(.shipped).decide(.refund(amount)) }
            #expect(error?.code == .validationError)
            #expect(error?.message.contains("Satchel did not charge this order") == true)
        }
    }

    /// During a refund, the same step waits for it, and every other step is refused.
    @Test func aRunningRefundIsJoinedOrBlocksOthers() throws {
        var cancelling = Self.order(.made)
        cancelling.pendingRefund = .init(.cancel, 1900)
        #expect(try cancelling.decide(.cancel) == .join)
        for step in [.ship(Shipment()), .deliver, .refund(nil), .refund(1900)] as [Step] {
            #expect(throws: ParseError(.validationError, "The order is being cancelled; its refund is pending.")) {
                try cancelling.decide(step)
            }
        }
        var refunding = Self.order(.shipped)
        refunding.pendingRefund = .init(.refund, 500)
        // T8a: the same amount again is a second refund, unless it has the same key.
        for step in [.ship(Shipment()), .deliver, .refund(nil), .refund(500), .refund(1900), .cancel] as [Step] {
            #expect(throws: ParseError(.validationError, "The order is being refunded; its refund is pending.")) {
                try refunding.decide(step)
            }
        }
        refunding.pendingRefund = .init(.refund, 1900)
        #expect(try refunding.decide(.refund(nil)) == .join)
        var cancelled = Self.order(.cancelled)
        cancelled.pendingRefund = .init(.refund, 500)
        #expect(try cancelled.decide(.cancel) == .nothing)
        #expect(throws: ParseError.self) { try cancelled.decide(.refund(1)) }
    }

    // MARK: Shipments

    @Test func aShipmentIsWhatTheShopSays() throws {
        let shipment = try Shipment([
            "carrier": "Post", "trackingNumber": "X1", "trackingUrl": "https://post.example/t?n=X1", "orderId": "o",
        ])
        #expect(shipment.carrier == "Post")
        #expect(shipment.trackingNumber == "X1")
        #expect(shipment.trackingUrl == "https://post.example/t?n=X1")
        #expect(try Shipment(["carrier": .null]) == Shipment())
    }

    static let badShipments: [JSON] = [
        ["trackingUrl": "javascript:alert(1)"], ["trackingUrl": "ftp://post.example/"], ["trackingUrl": "post.example"],
        ["trackingUrl": "https://"], ["trackingUrl": "https://post.example/<b>"],
        ["trackingUrl": "https://a b.example/"],
        ["trackingUrl": "https://shop@evil.example/"], ["trackingUrl": "data:text/html,x"],
        ["trackingUrl": .string("https://post.example/" + String(repeating: "x", count: 2000))], ["carrier": 5],
        ["carrier": "a\nb"], ["carrier": .string(String(repeating: "x", count: 101))], ["trackingNumber": ["a"]],
        ["trackingNumber": "\u{0}"],
    ]

    @Test(arguments: badShipments) func shipmentsThatCannotBeAreRefused(parameters: JSON) {
        #expect(throws: ParseError.self) { try Shipment(parameters) }
    }
}
