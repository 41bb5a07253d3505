import MessageBus
import Messages
import ParseProtocol
import ServiceKit

/// The cloud functions about operators: their rights and the log of their changes.
func installAudit(_ host: ServiceHost, _ routes: inout ServiceRoutes) {
    routes.accept(UsersCalls.audit) { message, request, transaction in
        // Sent by services' outboxes; client requests never have this kind.
        try request.requireMaster()
        try AuditLog.add(message, in: transaction)
    }
    // `auditEntries {limit?, after?, who?, className?, objectId?, from?, to?}`
    routes.function("auditEntries") { parameters, request in
        // Catalog editors may read the history of products only.
        try request.requireArea(parameters["className"] == "Product" ? .catalog : .admins)
        let page = try AuditPage(parameters)
        let isAdmin = request.isFromAdmin
        return try .result(await host.store.read(for: request.share) { try page.read(in: $0, tellsClient: isAdmin) })
    }
    // `myAreas {}`: the areas for which a dashboard should show pages; the services enforce them. Admins also get the
    // number of operators.
    routes.function("myAreas") { _, request in
        if !request.envelope.principal.master { _ = try request.userId }
        let areas = request.envelope.principal.areas
        var answer: JSON = [
            "areas": .array(OperatorArea.allCases.filter(areas.contains).map { .string($0.rawValue) })
        ]
        if request.isFromAdmin {
            let people = try await host.store.read(for: request.share) { reader in
                try OperatorArea.allCases.reduce(into: Set<String>()) { people, area in
                    people.formUnion(try RoleHierarchy.members(of: area.role, reader))
                }
            }
            answer["operators"] = .int(Int64(people.count))
        }
        return try .result(answer)
    }
}
