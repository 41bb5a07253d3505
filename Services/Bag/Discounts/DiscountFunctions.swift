import MessageBus
import ObjectStore
import ParseProtocol
import ServiceKit

/// The order desk's functions for discount codes.
struct DiscountFunctions: Sendable {
    let host: ServiceHost

    private static let limitMax: Int64 = 100
    private static let skipMax: Int64 = 1_000_000

    func install(in routes: inout ServiceRoutes) {
        routes.function("createDiscountCode") { parameters, request in
            try request.requireArea(.orders)
            try parameters.requireOnly(DiscountCode.names)
            let code = try DiscountCode(parameters)
            return try await host.commit(request) { transaction in
                try DiscountCodes.add(code, in: transaction)
                return try auditAndAnswer("createDiscountCode", nil, code, by: request, in: transaction)
            }
        }
        routes.function("updateDiscountCode") { parameters, request in
            try request.requireArea(.orders)
            try parameters.requireOnly(DiscountCode.names)
            guard let text = try CheckoutRequest.text(parameters, "discountCode") else {
                throw ParseError(.validationError, "discountCode is required.")
            }
            return try await host.commit(request) { transaction in
                guard let present = try DiscountCodes.find(text, in: transaction) else {
                    throw ParseError.objectNotFound
                }
                let code = try present.changed(by: parameters)
                try DiscountCodes.replace(code, in: transaction)
                return try auditAndAnswer("updateDiscountCode", present, code, by: request, in: transaction)
            }
        }
        routes.function("discountCodes") { parameters, request in
            try request.requireArea(.orders, .support)
            try parameters.requireOnly(["discountCode", "search", "limit", "skip"])
            let code = try CheckoutRequest.text(parameters, "discountCode")
            let search = try CheckoutRequest.text(parameters, "search")
            let limit = try parameters.listLimit(standard: 50, maximum: Self.limitMax)
            guard let skip = (parameters["skip"] ?? 0).intValue, (0...Self.skipMax).contains(skip) else {
                throw ParseError(.validationError, "skip must be a whole number from 0 to \(Self.skipMax).")
            }
            let selection: DiscountCodes.Selection
            if let code {
                selection = .one(DiscountCode.normalized(code) ?? "")
            } else if let search {
                selection = .containing(search)
            } else {
                selection = .all
            }
            return try await host.store.read(for: request.share) { reader in
                let codes = try DiscountCodes.list(selection, limit: limit, skip: skip, in: reader)
                return try .result([
                    "results": .array(codes), "count": .int(DiscountCodes.count(selection, in: reader)),
                ])
            }
        }
    }

    /// Records the change in the audit log and returns the answer.
    private func auditAndAnswer(
        _ action: String, _ before: DiscountCode?, _ after: DiscountCode, by request: ServiceRequest,
        in transaction: StoreTransaction
    ) throws -> BusReply {
        let entry = AuditNote(action, "", after.code, before: before?.json, after: after.json)
        try host.audit.note(entry, by: request, in: transaction)
        guard let answer = try DiscountCodes.list(.one(after.code), in: transaction).first else {
            throw ParseError.internalError
        }
        return try .result(answer)
    }
}
