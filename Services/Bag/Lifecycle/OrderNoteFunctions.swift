import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// The cloud functions that write notes on orders. Notes are read like other objects, by roles with access.
struct OrderNoteFunctions: Sendable {
    let host: ServiceHost
    let contacts: CustomerContacts

    func install(in routes: inout ServiceRoutes) {
        // `addOrderNote {orderId, text}`
        routes.function("addOrderNote") { parameters, request in
            try request.requireArea(.orders)
            guard !CardNumber.isPresent(in: parameters) else { throw CardNumber.refused }
            let orderId = try OrderFunctions.orderId(parameters)
            let text = try OrderNotes.text(parameters)
            let userId = request.envelope.principal.master ? "" : try request.userId
            let author = OrderNotes.Author(userId: userId, name: await contacts.name(of: userId, for: request))
            return try await host.commit(request) { transaction in
                let note = try OrderNotes.add(text, to: orderId, by: author, in: transaction)
                try audit("addOrderNote", orderId, after: Self.auditFields(of: note), by: request, in: transaction)
                return try .result(note)
            }
        }
        // `removeOrderNote {noteId}`
        routes.function("removeOrderNote") { parameters, request in
            try request.requireArea(.orders)
            guard let noteId = parameters["noteId"]?.stringValue else {
                throw ParseError(.validationError, "noteId is missing or not a string.")
            }
            guard Names.isObjectId(noteId) else { throw ParseError.objectNotFound }
            let author = request.isFromAdmin ? nil : try request.userId
            return try await host.commit(request) { transaction in
                let orderId = try OrderNotes.remove(noteId, writtenBy: author, in: transaction)
                let removed: JSON = ["noteId": .string(noteId)]
                try audit("removeOrderNote", orderId, before: removed, by: request, in: transaction)
                return try .result([:])
            }
        }
    }

    /// The note's fields in the audit log, which hides the text (`hiding` below): its entries outlive the customer's
    /// account.
    private static func auditFields(of note: JSON) -> JSON {
        ["noteId": note["objectId"] ?? .null, "text": note["text"] ?? .null]
    }

    private func audit(
        _ action: String, _ orderId: String, before: JSON? = nil, after: JSON? = nil, by request: ServiceRequest,
        in transaction: StoreTransaction
    ) throws {
        let entry = AuditNote(action, "Order", orderId, before: before, after: after, hiding: ["text"])
        try host.audit.note(entry, by: request, in: transaction)
    }
}
