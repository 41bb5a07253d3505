import MessageBus
import Messages
import ObjectStore
import ParseProtocol

/// The routes about class schemas (Shared/Messages/Protos/schemas.proto), in every service with Parse objects.
extension ServiceRoutes {
    /// Objects that a purge deletes per transaction: a few milliseconds, so that other writes are not delayed.
    private static let purgedAtOnce = 200

    mutating func installSchemas() {
        let calls = ObjectCalls(of: host.plan.name)
        let defined = Dictionary(uniqueKeysWithValues: host.plan.classes.map { ($0.name, Set($0.fields.keys)) })

        read(framed: calls.schemas) { message, request, reader in
            try request.requireMaster(or: .developers)
            let answer =
                try message.className.isEmpty ? reader.schemas() : reader.schema(of: message.className)
            return try BusReply(Accepted(), documents: [answer])
        }

        write(framed: calls.schema) { [host] message, request, transaction in
            try request.requireMaster(or: .developers)
            let before = try transaction.schemaJSON(of: message.className)
            var answer = JSON.object([:]).serialized
            switch message.verb {
            case .create: answer = try transaction.createClass(message.className, try request.document())
            case .change:
                let wish = try request.document()
                if !request.isFromAdmin, defined[message.className] != nil || message.className.hasPrefix("_") {
                    try SchemaRights.check(
                        developersWish: wish, ofBuiltIn: message.className, stored: before ?? [:])
                }
                answer = try transaction.changeClass(
                    message.className, wish, keeping: defined[message.className] ?? [])
            case .drop:
                guard defined[message.className] == nil else {
                    throw ParseError(.operationForbidden, "The class \(message.className) is part of Satchel.")
                }
                try transaction.dropClass(message.className)
            case .convert:
                // Only admins may convert a field of a class that Satchel's own code uses.
                if defined[message.className] != nil || message.className.hasPrefix("_") { try request.requireAdmin() }
                answer = try transaction.convertField(
                    message.className, try request.document(), keeping: defined[message.className] ?? []
                ).serialized
            case .unknown, .UNRECOGNIZED: throw ParseError(.invalidJSON, "Unknown verb.")
            }
            let after = try transaction.schemaJSON(of: message.className)
            try host.audit.note(
                .init("schema", message.className, before: before, after: after), by: request, in: transaction)
            return try BusReply(Accepted(), documents: [answer])
        }

        task(framed: calls.purge) { [host, rules] message, request in
            try request.requireMaster()
            let className = message.className
            let classRules = rules[className]
            let principal = request.envelope.principal
            let isRepeated = try await host.store.write(for: request.share) { transaction in
                if try KeyedReplies.isStored(request.envelope.idempotencyKey, in: transaction) { return true }
                try host.audit.note(.init("purge", className), by: request, in: transaction)
                return false
            }
            // A repetition deletes nothing that clients made after the first one.
            if isRepeated { return try await host.commit(request) { _ in throw ParseError.internalError } }
            var forget: Forget?
            while true {
                let forgets = try await host.store.write(for: request.share) {
                    try Self.purge(className, classRules, principal, in: $0)
                }
                guard let forgets else { break }
                // A purge affects too many sessions to list, so the gateway drops all of them.
                if forgets { forget = .with { $0.everything = true } }
            }
            let told = forget
            return try await host.commit(request) { _ in
                try BusReply(Accepted(), documents: [JSON.object([:]).serialized], forget: told)
            }
        }
    }

    /// Deletes some objects of a class as single deletions would, including dependent data.
    /// - Returns: nil when no object is left, else whether cached sessions must be dropped.
    private static func purge(
        _ className: String, _ rules: (any ClassRules)?, _ principal: Principal, in transaction: StoreTransaction
    ) throws -> Bool? {
        let ids = try transaction.objectIds(className, max: purgedAtOnce)
        guard !ids.isEmpty else { return nil }
        var forgets = false
        for id in ids where try rules == nil || transaction.exists(className, id) {
            let change = ProposedChange(
                verb: .delete, className: className, objectId: id, object: [:], principal: principal, for: nil)
            let outcome = try apply(change, rules, in: transaction)
            if outcome.forget != nil { forgets = true }
        }
        guard try !transaction.exists(className, ids[0]) else { throw ParseError.internalError }
        return forgets
    }
}

extension StoreTransaction {
    /// The class in the format of the schemas API; nil if it does not exist.
    fileprivate func schemaJSON(of className: String) throws -> JSON? {
        hasClass(className) ? try JSON(parsing: schema(of: className)) : nil
    }
}

extension ServiceRequest {
    /// - Throws: `.operationForbidden` (119) unless the request has the master key.
    public func requireMaster() throws {
        guard envelope.principal.master else {
            throw ParseError(.operationForbidden, "unauthorized: master key is required")
        }
    }
}
