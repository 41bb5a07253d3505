import Messages
import ObjectStore
import ParseProtocol
import ProcessKit
import ServiceKit

/// The outcome of a charge. It never changes once it is stored.
package enum ChargeOutcome: Sendable, Hashable {
    case succeeded(ProviderCharge)
    case declined(ProviderFailure)
}

/// The stored state of a charge. Its recovery points are the states of its row:
///
/// - no row: no request was sent to the provider;
/// - `created`: the provider may or may not have charged the customer; a retry with the same key shows which. With
///   `awaitsAction` the customer has to confirm the charge, and reports call the state `requiresAction`;
/// - `succeeded`, `declined`: decided, and the answer to every retry;
/// - `abandoned`: the bag looked for the charge, and it was not made; it never will be.
package enum ChargeLedger {
    /// The next step for a request.
    package enum Step: Sendable, Hashable {
        case askProvider(ChargeOrder)
        case answer(ChargeOutcome)
    }

    /// Finds the operation or starts it.
    /// - Throws: `.validationError` (142) when the operation id was used for another charge or abandoned,
    ///   `.objectNotFound` (101) when the payment method or customer does not belong to the user.
    static func begin(_ request: ChargeRequest, in transaction: StoreTransaction) throws -> Step {
        let requested = try RequestedSource(request)
        if let row = try row(request.operationID, in: transaction) {
            guard try row.text("state") != "abandoned" else { throw givenUp }
            // Charges of a deleted account have no user id, so the user is not compared.
            guard try row.text("orderId") == request.orderID, try ["", request.userID].contains(row.text("userId")),
                try row.int("amount") == request.amountMinorUnits, try row.text("currency") == request.currency,
                try row.text("requested") == requested.stored
            else { throw ParseError(.validationError, "This operation id was used for another charge.") }
            return try step(row)
        }
        let order = ChargeOrder(
            source: try requested.resolve(userId: request.userID, in: transaction),
            amountMinorUnits: request.amountMinorUnits, currency: request.currency, orderId: request.orderID,
            begunAt: transaction.now, allowsAction: request.allowsAction)
        // The account may have been deleted since the checkout began.
        let userId = try DeletedUsers.contains(request.userID, in: transaction) ? "" : request.userID
        _ = try transaction.execute(
            """
            INSERT INTO charges(operationId, orderId, userId, amount, currency, requested, source, state, createdAt, \
            changedAt, allowsAction)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'created', ?8, ?8, ?9)
            """,
            [
                .text(request.operationID), .text(request.orderID), .text(userId), .int(order.amountMinorUnits),
                .text(order.currency), .text(requested.stored), .text(order.source.stored),
                .int(transaction.now.milliseconds), .int(request.allowsAction ? 1 : 0),
            ])
        return .askProvider(order)
    }

    /// Stores that the customer has to confirm the charge.
    static func awaitAction(_ operationId: String, in transaction: StoreTransaction) throws {
        try UndecidedReasons.clear(operationId, in: transaction)
        _ = try transaction.execute(
            """
            UPDATE charges SET awaitsAction = 1, changedAt = ?
            WHERE operationId = ? AND state = 'created' AND awaitsAction = 0
            """, [.int(transaction.now.milliseconds), .text(operationId)])
    }

    /// The name of a charge's state in reports.
    static func reported(_ row: SQLRow) throws -> String {
        let state = try row.text("state")
        return try state == "created" && row.int("awaitsAction") == 1 ? "requiresAction" : state
    }

    /// Stores the provider's decision, unless one is stored.
    /// - Returns: the stored outcome.
    static func decide(
        _ operationId: String, _ outcome: ChargeOutcome, in transaction: StoreTransaction
    ) throws -> ChargeOutcome {
        let values: [SQLValue] =
            switch outcome {
            case .succeeded(let charge):
                ["succeeded", .text(charge.id), .text(charge.brand), .text(charge.lastFourDigits), .null]
            case .declined(let failure): ["declined", .null, .null, .null, .text(failure.stored)]
            }
        let count = try transaction.execute(
            """
            UPDATE charges SET state = ?, chargeId = ?, brand = ?, lastFour = ?, failure = ?, changedAt = ?
            WHERE operationId = ? AND state = 'created'
            """, values + [.int(transaction.now.milliseconds), .text(operationId)])
        if count > 0 {
            let name = if case .succeeded = outcome { "succeeded" } else { "declined" }
            transaction.afterCommit { Metric.payments.count(("kind", "charges"), ("outcome", name)) }
        }
        try UndecidedReasons.clear(operationId, in: transaction)
        guard let row = try row(operationId, in: transaction) else { throw ParseError.internalError }
        if try row.text("state") == "abandoned", case .succeeded(let charge) = outcome {
            throw LateCharge(operationId: operationId, chargeId: charge.id)
        }
        guard case .answer(let stored) = try step(row) else { throw ParseError.internalError }
        return stored
    }

    /// The provider charged the customer after it had confirmed that it never would.
    struct LateCharge: Error {
        let operationId: String
        let chargeId: String
    }

    static let givenUp = ParseError(.validationError, "This charge was given up before it was made.")

    static func row(_ operationId: String, in store: ObjectReader) throws -> SQLRow? {
        try store.rows("SELECT * FROM charges WHERE operationId = ?", [.text(operationId)]).first
    }

    static func step(_ row: SQLRow) throws -> Step {
        switch try row.text("state") {
        case "succeeded":
            try .answer(
                .succeeded(
                    ProviderCharge(
                        id: row.text("chargeId"), brand: row.text("brand"), lastFourDigits: row.text("lastFour"))))
        case "declined":
            .answer(.declined(try ProviderFailure(stored: row.text("failure"))))
        case "abandoned": throw givenUp
        default:
            try .askProvider(
                ChargeOrder(
                    source: ChargeOrder.Source(stored: row.text("source")), amountMinorUnits: row.int("amount"),
                    currency: row.text("currency"), orderId: row.text("orderId"),
                    begunAt: Timestamp(milliseconds: row.int("createdAt")),
                    allowsAction: row.int("allowsAction") == 1))
        }
    }
}

/// The payment source that the request names. The ledger compares it, and resolves it once.
private enum RequestedSource {
    case method(String)
    case customer(String)
    case token(String)

    init(_ request: ChargeRequest) throws {
        switch request.source {
        case .paymentMethodID(let id): self = .method(id)
        case .customerID(let id): self = .customer(id)
        case .token(let token): self = .token(token)
        case nil: throw ParseError(.validationError, "A charge needs a payment method, a customer or a token.")
        }
    }

    var stored: String {
        switch self {
        case .method(let id): "method:\(id)"
        case .customer(let id): "customer:\(id)"
        case .token(let token): "token:\(token)"
        }
    }

    func resolve(userId: String, in transaction: StoreTransaction) throws -> ChargeOrder.Source {
        switch self {
        case .method(let id):
            .customer(try PaymentMethods.customer(where: ["objectId": .string(id)], owner: userId, in: transaction))
        case .customer(let id):
            .customer(
                try PaymentMethods.customer(where: ["stripeCustomerId": .string(id)], owner: userId, in: transaction))
        case .token(let token): .token(token)
        }
    }
}

extension ChargeOrder.Source {
    var stored: String {
        switch self {
        case .customer(let id): "customer:\(id)"
        case .token(let token): "token:\(token)"
        }
    }

    init(stored text: String) throws {
        guard let colon = text.firstIndex(of: ":") else { throw ParseError.internalError }
        let id = String(text[text.index(after: colon)...])
        switch text[..<colon] {
        case "customer": self = .customer(id)
        case "token": self = .token(id)
        default: throw ParseError.internalError
        }
    }
}
