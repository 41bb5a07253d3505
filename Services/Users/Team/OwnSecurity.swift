import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// The cloud functions with which operators change their own password and second factor. Each asks for the present
/// password, so that a stolen session cannot keep the account. Wrong passwords count like wrong codes.
struct OwnSecurity: Sendable {
    let host: ServiceHost
    let rules: UserRules
    /// The hasher for sign-ins.
    let hasher: PasswordHasher

    func install(in routes: inout ServiceRoutes) {
        routes.function("changeOperatorPassword") { [self] in try await changePassword($0, $1) }
        routes.function("setOperatorFactor") { [self] in try await setFactor($0, $1) }
    }

    /// Function `changeOperatorPassword {oldPassword, newPassword}`: ends the other sessions, as any new password does,
    /// and returns the token of the session that continues.
    private func changePassword(_ parameters: JSON, _ request: ServiceRequest) async throws -> BusReply {
        let userId = try Self.operatorId(request)
        if let reply = try await host.storedReply(to: request) { return reply }
        let password = try Self.password(parameters, "newPassword")
        try rules.settings.passwordPolicy.check(password)
        let hash = try await proven(try Self.password(parameters, "oldPassword"), of: userId, request)
        let change = try await prepared(["password": .string(password)], userId, request)
        return try await host.commit(request) { [host, rules] transaction in
            let outcome = try Self.apply(change, rules, of: userId, hash, in: transaction)
            try host.audit.note(.init("changeOperatorPassword", "_User", userId), by: request, in: transaction)
            let token = outcome.answer["sessionToken"] ?? .string(request.envelope.principal.sessionToken)
            var reply = try BusReply.result(["sessionToken": token])
            reply.forget = outcome.forget
            return reply
        }
    }

    /// Function `setOperatorFactor {password, secret?, token?, code?}`: adds or replaces the second factor, or without
    /// `secret` removes it; `code` is one of the present factor. Works whatever `SATCHEL_MFA` says.
    private func setFactor(_ parameters: JSON, _ request: ServiceRequest) async throws -> BusReply {
        let userId = try Self.operatorId(request)
        if let reply = try await host.storedReply(to: request) { return reply }
        let hash = try await proven(try Self.password(parameters, "password"), of: userId, request)
        var wish: JSON = ["secret": parameters["secret"] ?? .null]
        wish["token"] = parameters["token"]
        wish["old"] = parameters["code"]
        let change = try await prepared(["authData": [SecondFactors.name: wish]], userId, request)
        return try await host.commit(request) { [host, rules] transaction in
            let outcome = try Self.apply(change, rules, of: userId, hash, in: transaction)
            let codes = outcome.answer["authDataResponse"]?[SecondFactors.name]?["recovery"]?.stringValue
            let action = codes == nil ? "removeOperatorFactor" : "setOperatorFactor"
            try host.audit.note(.init(action, "_User", userId), by: request, in: transaction)
            let each = (codes ?? "").split(separator: ",").map { JSON.string(String($0.filter { $0 != " " })) }
            var reply = try BusReply.result(["recoveryCodes": .array(each)])
            reply.forget = outcome.forget
            return reply
        }
    }

    /// - Throws: `.operationForbidden` (119) unless the caller is an operator, `.invalidSessionToken` (209) for the
    ///   master key.
    private static func operatorId(_ request: ServiceRequest) throws -> String {
        try request.requireArea(.catalog, .orders, .support, .developers, .admins)
        return try request.userId
    }

    private static func password(_ parameters: JSON, _ name: String) throws -> String {
        guard let password = parameters[name]?.stringValue, !password.isEmpty else {
            throw ParseError(.passwordMissing, "\(name) is required.")
        }
        return password
    }

    /// Checks the present password.
    /// - Returns: its hash.
    /// - Throws: `.objectNotFound` (101) for a wrong one and while too many were wrong.
    private func proven(_ password: String, of userId: String, _ request: ServiceRequest) async throws -> String? {
        let subject = SignInSubject.owner(userId)
        let hash = try await host.store.read(for: request.share) { reader -> String? in
            try SignInFailures.check(subject, at: .now, reader)
            return try Credentials.hash(of: userId, reader)
        }
        let client = HashingClient(network: request.envelope.principal.network)
        guard password.utf8.count <= AccountNames.passwordBytesMax,
            try await hasher.verify(password, against: hash, for: client, charging: request.budget)
        else {
            try await host.store.write(for: request.share) { try SignInFailures.count(subject, in: $0) }
            throw SignIn.refused
        }
        return hash
    }

    private func prepared(_ object: JSON, _ userId: String, _ request: ServiceRequest) async throws -> ProposedChange {
        var change = ProposedChange(
            verb: .update, className: "_User", objectId: userId, object: object,
            principal: request.envelope.principal, for: request)
        change.notes[SecondFactorChange.operatorNote] = true
        try await rules.prepare(&change)
        return change
    }

    /// Concurrent guesses passed `proven` together; here they count one after the other.
    private static func apply(
        _ change: ProposedChange, _ rules: UserRules, of userId: String, _ hash: String?,
        in transaction: StoreTransaction
    ) throws -> ChangeOutcome {
        try SignInFailures.check(.owner(userId), at: transaction.now, transaction)
        guard try Credentials.hash(of: userId, transaction) == hash else { throw SignIn.refused }
        return try ServiceRoutes.apply(change, rules, in: transaction)
    }
}
