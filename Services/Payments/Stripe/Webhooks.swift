import Logging
import ObjectStore
import ParseProtocol
import ServiceKit

/// `payments.webhook.v1`: Stripe's webhook events. Accepted only with a valid signature, counted once by event id.
package struct Webhooks: Sendable {
    private let store: ClassStore
    private let outbox: Outbox
    private let secret: String?
    private let logger: Logger

    /// - Parameter secret: nil refuses every event.
    package init(store: ClassStore, outbox: Outbox, secret: String?, logger: Logger) {
        self.store = store
        self.outbox = outbox
        self.secret = secret
        self.logger = logger
    }

    /// Events have a few kilobytes. The limit bounds the hashing for unknown clients.
    private static let bodyBytesMax = 512 * 1024

    /// Returns when the event is stored, was already received, or is irrelevant.
    /// - Throws: `.validationError` (142) unless it is signed, `.invalidJSON` (107) when it cannot be decoded.
    package func receive(_ body: [UInt8], signature: String, for share: WorkShare?) async throws {
        guard let secret else {
            throw ParseError(
                .validationError, "This shop expects no webhooks: it has no SATCHEL_STRIPE_WEBHOOK_SECRET.")
        }
        guard body.count <= Self.bodyBytesMax, let signature = StripeSignature(signature),
            signature.isValid(for: body, secret: secret, at: .now)
        else { throw ParseError(.validationError, "The webhook is not signed with this shop's secret, or too old.") }
        guard let json = try? JSON(parsing: body), let event = PaymentEvent(json) else {
            throw ParseError(.invalidJSON, "The webhook is not an event.")
        }
        guard event.kind != nil else { return }
        let effect = try await store.write(for: share) { [outbox] in try PaymentEvents.add(event, outbox, in: $0) }
        switch effect {
        case nil: break
        case .contradiction:
            logger.critical(
                "Stripe reports a successful charge that is not stored as successful.",
                metadata: ["charge.operation": "\(event.operationId)", "stripe.object": "\(event.objectId)"])
        case .elsewhere, .dispute:
            logger.error(
                "An operator must check a payment.",
                metadata: ["event.type": "\(event.type)", "stripe.object": "\(event.objectId)"])
        case .refundFailed:
            logger.error(
                "A refund failed at the customer's bank. It is parked.",
                metadata: ["refund.operation": "\(event.operationId)", "stripe.object": "\(event.objectId)"])
        case .decided, .known, .unknown:
            logger.info(
                "A payment event was received.", metadata: ["event.type": "\(event.type)", "event.id": "\(event.id)"])
        }
    }
}

/// The used parts of an event (https://docs.stripe.com/api/events/object).
package struct PaymentEvent: Sendable {
    enum Kind: String {
        case succeeded = "payment_intent.succeeded"
        case failed = "payment_intent.payment_failed"
        case canceled = "payment_intent.canceled"
        case refunded = "charge.refunded"
        case disputed = "charge.dispute.created"
        case refundFailed = "refund.failed"
        case refundUpdated = "refund.updated"
        /// Sent to endpoints with an API version before 2024-10-28.
        case chargeRefundUpdated = "charge.refund.updated"
    }

    let id: String
    let type: String
    /// Unix time in seconds.
    let createdAt: Int64
    var milliseconds: Int64 { createdAt.multipliedReportingOverflow(by: 1000).partialValue }
    let objectId: String
    /// The charge's ids in Stripe's records, for both APIs.
    let chargeIds: [String]
    let operationId: String
    /// The charged, refunded so far, or disputed amount, in minor units.
    let amount: Int64
    let currency: String
    /// A refund's state, such as `failed`.
    let status: String
    /// Why a refund failed, such as `expired_or_canceled_card`; else empty.
    let failureReason: String

    /// Nil for a type that is ignored.
    var kind: Kind? { Kind(rawValue: type) }

    /// Nil when it is not an event.
    init?(_ json: JSON) {
        guard json["object"]?.stringValue == "event", let id = json["id"]?.stringValue,
            Self.idBytes.contains(id.utf8.count),
            let type = json["type"]?.stringValue, let object = json["data"]?["object"]
        else { return nil }
        func text(_ name: String) -> String {
            String((object[name]?.stringValue ?? "").prefix(Self.idBytes.upperBound))
        }
        self.id = id
        self.type = type
        createdAt = json["created"]?.intValue ?? 0
        objectId = text("id")
        chargeIds = [objectId, text("payment_intent"), text("charge")].filter { !$0.isEmpty }
        operationId = String((object["metadata"]?["operation_id"]?.stringValue ?? "").prefix(Self.idBytes.upperBound))
        currency = text("currency")
        status = text("status")
        failureReason = text("failure_reason")
        let told = (object[Kind(rawValue: type) == .refunded ? "amount_refunded" : "amount"]?.intValue) ?? 0
        amount = StripeAmount.minorUnits(told, currency: currency)
    }

    private static let idBytes = 1...255
}
