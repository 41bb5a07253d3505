import MessageBus
import ObjectStore
import ParseProtocol
import ServiceKit

/// The cloud functions with which the order desk and support find customers, and give them tags and notes.
struct CustomerFunctions: Sendable {
    let host: ServiceHost
    let contacts: CustomerContacts
    let totals: CustomerTotals

    func install(in routes: inout ServiceRoutes) {
        routes.function("customers") { parameters, request in
            try request.requireArea(.orders, .support)
            let list = try CustomerList(parameters)
            return try .result(
                await host.store.read(for: request.share) { reader in
                    try reader.onOneSnapshot { try list.read(currency: totals.currency, in: reader) }
                })
        }
        // `setCustomerTags {customerId, tags}`
        routes.function("setCustomerTags") { parameters, request in
            let (customerId, profile) = try await customer(parameters, request)
            let tags = try CustomerMarks.tags(parameters)
            return try await host.commit(request) { transaction in
                try require(customerId, profile, in: transaction)
                let before = try CustomerMarks.set(tags, of: customerId, in: transaction)
                try CustomerTotals.removeIfUnused(customerId, in: transaction)
                try audit(
                    "setCustomerTags", customerId, before: ["tags": .array(before.map(JSON.string))],
                    after: ["tags": .array(tags.map(JSON.string))], by: request, in: transaction)
                return try .result(["customerId": .string(customerId), "tags": .array(tags.map(JSON.string))])
            }
        }
        // `addCustomerNote {customerId, text}`
        routes.function("addCustomerNote") { parameters, request in
            let (customerId, profile) = try await customer(parameters, request)
            let text = try OrderNotes.text(parameters)
            let userId = request.envelope.principal.master ? "" : try request.userId
            let author = OrderNotes.Author(userId: userId, name: await contacts.name(of: userId, for: request))
            return try await host.commit(request) { transaction in
                try require(customerId, profile, in: transaction)
                let added = try CustomerMarks.add(text, to: customerId, by: author, in: transaction)
                let fields: JSON = ["noteId": added["noteId"] ?? .null, "text": .string(text)]
                try audit("addCustomerNote", customerId, after: fields, by: request, in: transaction)
                return try .result(added)
            }
        }
        // `removeCustomerNote {noteId}`
        routes.function("removeCustomerNote") { parameters, request in
            try request.requireArea(.orders, .support)
            let noteId = try parameters.objectIdParameter("noteId")
            let author = request.isFromAdmin ? nil : try request.userId
            return try await host.commit(request) { transaction in
                let customerId = try CustomerMarks.remove(noteId, writtenBy: author, in: transaction)
                try CustomerTotals.removeIfUnused(customerId, in: transaction)
                let removed: JSON = ["noteId": .string(noteId)]
                try audit("removeCustomerNote", customerId, before: removed, by: request, in: transaction)
                return try .result([:])
            }
        }
    }

    /// The customer of a request that changes tags or notes, with the profile of an account that never ordered.
    /// - Throws: `.operationForbidden` (119) for other callers, `.objectNotFound` (101) when there is no such customer.
    private func customer(
        _ parameters: JSON, _ request: ServiceRequest
    ) async throws -> (customerId: String, profile: CustomerProfile) {
        try request.requireArea(.orders, .support)
        guard !CardNumber.isPresent(in: parameters) else { throw CardNumber.refused }
        let customerId = try parameters.objectIdParameter("customerId")
        let isKnown = try await host.store.read(for: request.share) { try CustomerTotals.exists(customerId, in: $0) }
        if isKnown { return (customerId, CustomerProfile()) }
        let known = try await contacts.contacts(of: [customerId], for: request)
        guard let contact = known[customerId] else { throw ParseError.objectNotFound }
        return (customerId, CustomerProfile(person: contact))
    }

    private func require(
        _ customerId: String, _ profile: CustomerProfile, in transaction: StoreTransaction
    ) throws {
        guard try !DeletedUsers.contains(customerId, in: transaction) else { throw ParseError.objectNotFound }
        try totals.require(customerId, profile, in: transaction)
    }

    /// The audit log hides texts and tags: its entries outlive the customer's account.
    private func audit(
        _ action: String, _ customerId: String, before: JSON? = nil, after: JSON? = nil, by request: ServiceRequest,
        in transaction: StoreTransaction
    ) throws {
        let entry = AuditNote(
            action, "_User", customerId, before: before, after: after, hiding: ["text", "tags"])
        try host.audit.note(entry, by: request, in: transaction)
    }
}
