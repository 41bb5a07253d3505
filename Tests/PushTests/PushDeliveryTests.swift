import ParseProtocol
import PushService
import Testing

/// A delivery's state after every possible answer of a provider. No I/O.
@Suite struct PushDeliveryTests {
    static let now = Timestamp(milliseconds: 1_767_225_600_000)

    static func delivery(attempts: Int = 0, expiresIn: Duration? = nil, isCancelled: Bool = false) throws -> Delivery {
        Delivery(
            id: 1, name: "0a", push: "p", installation: "i", deviceType: "ios", token: "t", appIdentifier: nil,
            payload: try PushPayload(["alert": "hi"]), badge: nil, utcOffset: nil, attempts: attempts, madeAt: now,
            expiresAt: expiresIn.map { now.advanced(by: $0) }, isCancelled: isCancelled)
    }

    static func step(
        after answer: ProviderAnswer, attempts: Int = 0, expiresIn: Duration? = nil, at time: Timestamp = now
    ) throws -> DeliveryMachine.Step {
        var machine = DeliveryMachine(try delivery(attempts: attempts, expiresIn: expiresIn))
        try #require(machine.start(now: now) == .send)
        return machine.answered(answer, now: time)
    }

    @Test(arguments: [
        (ProviderAnswer.accepted, DeliveryMachine.Step.sent),
        (.unsupported("NoTopic"), .failed("NoTopic")),
        (.refused(status: 410, reason: "Unregistered", retryAfter: nil), .tokenIsDead("Unregistered")),
        (.refused(status: 410, reason: "ExpiredToken", retryAfter: nil), .tokenIsDead("ExpiredToken")),
        (.refused(status: 400, reason: "BadDeviceToken", retryAfter: nil), .tokenIsDead("BadDeviceToken")),
        // A wrong topic is the operator's mistake and must not invalidate the tokens of all devices.
        (.refused(status: 400, reason: "DeviceTokenNotForTopic", retryAfter: nil), .refused("DeviceTokenNotForTopic")),
        (.refused(status: 400, reason: "Status400", retryAfter: nil), .refused("Status400")),
        (.refused(status: 413, reason: "PayloadTooLarge", retryAfter: nil), .refused("PayloadTooLarge")),
        (.refused(status: 403, reason: "Forbidden", retryAfter: nil), .refused("Forbidden")),
        (.refused(status: 404, reason: "BadPath", retryAfter: nil), .refused("BadPath")),
    ])
    func isOver(_ answer: ProviderAnswer, expected: DeliveryMachine.Step) throws {
        #expect(try Self.step(after: answer) == expected)
    }

    @Test(arguments: [
        ProviderAnswer.none("timedOut"), .none("broken"),
        .refused(status: 429, reason: "TooManyRequests", retryAfter: nil),
        .refused(status: 500, reason: "InternalServerError", retryAfter: nil),
        .refused(status: 503, reason: "ServiceUnavailable", retryAfter: nil),
        .refused(status: 599, reason: "Status599", retryAfter: nil),
        .refused(status: 408, reason: "Status408", retryAfter: nil),
        .refused(status: 403, reason: "ExpiredProviderToken", retryAfter: nil),
        .refused(status: 403, reason: "InvalidProviderToken", retryAfter: nil),
    ])
    func isTriedAgain(_ answer: ProviderAnswer) throws {
        guard case .again(let at, _) = try Self.step(after: answer) else {
            Issue.record("\(answer) is not tried again.")
            return
        }
        #expect(at == Self.now.advanced(by: .seconds(1)))
    }

    @Test(arguments: [(0, 1), (1, 2), (5, 32), (9, 512), (10, 600), (1000, 600)])
    func pausesDouble(attempts: Int, seconds: Int64) throws {
        #expect(
            try Self.step(after: .none("timedOut"), attempts: attempts)
                == .again(at: Self.now.advanced(by: .seconds(seconds)), reason: "timedOut"))
    }

    @Test(arguments: [(30, 30), (0, 1), (1_000_000, 3600)])
    func theProvidersOwnPauseCounts(wanted: Int64, seconds: Int64) throws {
        let answer = ProviderAnswer.refused(status: 429, reason: "TooMany", retryAfter: .seconds(wanted))
        #expect(
            try Self.step(after: answer) == .again(at: Self.now.advanced(by: .seconds(seconds)), reason: "TooMany"))
    }

    @Test func whatIsTooLateIsNotSent() throws {
        var expired = DeliveryMachine(try Self.delivery(expiresIn: .zero))
        #expect(expired.start(now: Self.now) == .failed("Expired"))
        var cancelled = DeliveryMachine(try Self.delivery(isCancelled: true))
        #expect(cancelled.start(now: Self.now) == .failed("Cancelled"))
        // The next attempt would be after the expiration.
        #expect(try Self.step(after: .none("timedOut"), attempts: 3, expiresIn: .seconds(5)) == .failed("Expired"))
        let nextDay = Self.now.advanced(by: .seconds(86_400))
        #expect(try Self.step(after: .none("timedOut"), at: nextDay) == .refused("timedOut"))
    }

    @Test func customersReadAboutTheirOrder() {
        #expect(OrderTexts.made(1_000_001) == "Thank you! We have your order 1000001.")
        #expect(OrderTexts.changed(1_000_001, status: 2) == "Order 1000001 is on its way.")
        #expect(OrderTexts.changed(1_000_001, status: -2) == "Order 1000001 has been refunded.")
        #expect(OrderTexts.changed(1_000_001, status: 1) == nil)
        #expect(OrderTexts.partlyRefunded(1_000_001) == "A part of order 1000001 has been refunded.")
    }
}
