import ParseProtocol
import ServiceKit

/// `sandboxAction {clientSecret, confirms}`: what the bank's page does for a charge that the customer has to confirm.
struct SandboxActions: Sendable {
    let host: ServiceHost

    private static let secretBytes = 1...255

    func install(in routes: inout ServiceRoutes) {
        let provider = SandboxProvider(store: host.store)
        routes.function("sandboxAction") { parameters, request in
            _ = try request.userId
            let secret = parameters["clientSecret"]?.stringValue ?? ""
            guard Self.secretBytes.contains(secret.utf8.count), !secret.utf8.contains(0),
                let confirms = parameters["confirms"]?.boolValue
            else { throw ParseError(.validationError, "clientSecret and confirms are needed.") }
            guard try await provider.act(secret, confirms: confirms, for: request.share) else {
                throw ParseError.objectNotFound
            }
            return try .result(true)
        }
    }
}
