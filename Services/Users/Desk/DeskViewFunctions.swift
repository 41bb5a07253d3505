import MessageBus
import Messages
import ParseProtocol
import ServiceKit

/// The cloud functions for saved views of the dashboard's lists. Each operator has separate views.
func installDeskViews(_ host: ServiceHost, _ routes: inout ServiceRoutes) {
    // `deskViews {}`
    routes.function("deskViews") { _, request in
        let userId = try operatorId(request)
        return try .result(await host.store.read(for: request.share) { try DeskViews.all(of: userId, in: $0) })
    }
    // `saveDeskView {list, name, query?}`
    routes.function("saveDeskView") { parameters, request in
        let userId = try operatorId(request)
        let view = try DeskViews.View(parameters)
        try await host.store.write(for: request.share) { try DeskViews.save(view, of: userId, in: $0) }
        return try .result([:])
    }
    // `removeDeskView {list, name}`
    routes.function("removeDeskView") { parameters, request in
        let userId = try operatorId(request)
        return try await host.commit(request) { transaction in
            try DeskViews.remove(parameters, of: userId, in: transaction)
            return try .result([:])
        }
    }
}

/// - Throws: `.operationForbidden` (119) unless the caller is an operator, `.invalidSessionToken` (209) for the master
///   key, which has no user.
private func operatorId(_ request: ServiceRequest) throws -> String {
    try request.requireArea(.catalog, .orders, .support, .developers, .admins)
    return try request.userId
}
