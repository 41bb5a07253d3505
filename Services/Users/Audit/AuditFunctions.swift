import MessageBus
import Messages
import ParseProtocol
import ServiceKit

/// The cloud functions about operators: what they may do, and what they did.
func installAudit(_ host: ServiceHost, _ routes: inout ServiceRoutes) {
    routes.accept(UsersCalls.audit) { message, request, transaction in
        // Services tell it through their outboxes; a client's request never has this kind.
        try request.requireMaster()
        try AuditLog.add(message, in: transaction)
    }
    // `auditEntries {limit?, after?, who?, className?, objectId?, from?, to?}`
    routes.function("auditEntries") { parameters, request in
        // Whoever writes products reads what was done to them, and nothing of anything else.
        try request.requireArea(parameters["className"] == "Product" ? .catalog : .admins)
        let page = try AuditPage(parameters)
        let isAdmin = request.isFromAdmin
        return try .result(await host.store.read { try page.read(in: $0, tellsClient: isAdmin) })
    }
    // `myAreas {}`: what a desk may show; the services decide.
    routes.function("myAreas") { _, request in
        if !request.envelope.principal.master { _ = try request.userId }
        let areas = request.envelope.principal.areas
        return try .result([
            "areas": .array(OperatorArea.allCases.filter(areas.contains).map { .string($0.rawValue) })
        ])
    }
}
