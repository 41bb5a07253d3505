import MessageBus
import Messages
import ParseProtocol
import ServiceKit

/// The cloud functions for views of the desk's lists. Every operator has some of their own.
func installDeskViews(_ host: ServiceHost, _ routes: inout ServiceRoutes) {
    // `deskViews {}`
    routes.function("deskViews") { _, request in
        let userId = try operatorId(request)
        return try .result(await host.store.read { try DeskViews.all(of: userId, in: $0) })
    }
    // `saveDeskView {list, name, query?}`
    routes.function("saveDeskView") { parameters, request in
        let userId = try operatorId(request)
        let view = try DeskViews.View(parameters)
        try await host.store.write { try DeskViews.save(view, of: userId, in: $0) }
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

/// - Throws: `.operationForbidden` (119) unless an operator asks, `.invalidSessionToken` (209) for the master key,
///   which is nobody.
private func operatorId(_ request: ServiceRequest) throws -> String {
    try request.requireArea(.catalog, .orders, .support, .developers, .admins)
    return try request.userId
}
