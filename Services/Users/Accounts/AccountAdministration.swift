import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// The cloud functions with which admins and support manage other users' accounts. The caller's rights are checked
/// before the account is read, so that neither the answer nor its timing reveals to others whether the account exists.
struct AccountAdministration: Sendable {
    let host: ServiceHost
    let rules: UserRules

    func install(in routes: inout ServiceRoutes) {
        routes.function("accounts") { [self] in try await find($0, $1) }
        routes.function("allAccounts") { [self] in try await list($0, $1) }
        routes.function("account") { [self] in try await see($0, $1) }
        routes.function("updateAccount") { [self] in try await update($0, $1) }
        routes.function("deleteAccount") { [self] in try await delete($0, $1) }
    }

    /// Function `accounts {search, limit?}`: accounts whose address or name has this prefix.
    private func find(_ parameters: JSON, _ request: ServiceRequest) async throws -> BusReply {
        try request.requireArea(.support)
        let search = try AccountSearch(parameters)
        return try .result(await host.store.read(for: request.share) { try search.find(in: $0) })
    }

    /// Function `allAccounts {after?, limit?}`.
    private func list(_ parameters: JSON, _ request: ServiceRequest) async throws -> BusReply {
        try request.requireArea(.support)
        let list = try AccountList(parameters)
        return try .result(await host.store.read(for: request.share) { try list.read(in: $0) })
    }

    /// Function `account {userId}`.
    private func see(_ parameters: JSON, _ request: ServiceRequest) async throws -> BusReply {
        try request.requireArea(.support)
        let userId = try parameters.objectIdParameter("userId")
        return try .result(
            await host.store.read(for: request.share) { reader in
                try request.requireReach(of: userId, reader)
                let user = try reader.document("_User", userId, caller: .master)
                return try AccountView.whole(user, of: userId, reader)
            })
    }

    /// Function `updateAccount {userId, firstName?, lastName?, name?, phone?, email?}`: an empty text removes a value.
    /// A new address has the same consequences as a change by the user.
    private func update(_ parameters: JSON, _ request: ServiceRequest) async throws -> BusReply {
        try request.requireArea(.support)
        let edit = try AccountEdit(parameters, byAdmin: request.isFromAdmin)
        let userId = edit.userId
        let stored = try await host.store.read(for: request.share) { reader in
            try request.requireReach(of: userId, reader)
            return try reader.document("_User", userId, caller: .master)
        }
        let change = try await prepared(.update, userId, edit.object(for: stored), request)
        return try await host.commit(request) { [host, rules] transaction in
            try request.requireReach(of: userId, transaction)
            let outcome = try ServiceRoutes.apply(change, rules, in: transaction)
            try host.audit.note(
                .init(
                    "updateAccount", "_User", userId, before: Self.noted(outcome.before),
                    after: Self.noted(outcome.after), hiding: AccountEdit.fields), by: request, in: transaction)
            var reply = try BusReply.result(["updatedAt": outcome.after?["updatedAt"] ?? .null])
            reply.forget = outcome.forget
            return reply
        }
    }

    /// Function `deleteAccount {userId}`: deletes the account in every service, as the user's own deletion does. An
    /// operator's account must first be removed from its roles.
    private func delete(_ parameters: JSON, _ request: ServiceRequest) async throws -> BusReply {
        try request.requireArea(.support)
        let userId = try parameters.objectIdParameter("userId")
        try await host.store.read(for: request.share) { try request.requireReach(of: userId, $0) }
        let change = try await prepared(.delete, userId, [:], request)
        return try await host.commit(request) { [host, rules] transaction in
            try request.requireReach(of: userId, transaction)
            guard try !OperatorRoles.isHeld(by: userId, transaction) else {
                throw ParseError(
                    .operationForbidden, "An operator's account must be removed from all operator roles first.")
            }
            let outcome = try ServiceRoutes.apply(change, rules, in: transaction)
            try host.audit.note(.init("deleteAccount", "_User", userId), by: request, in: transaction)
            var reply = try BusReply.result(["deleted": true])
            reply.forget = outcome.forget
            return reply
        }
    }

    /// The change with the rights of the master key; the caller has been authorised.
    private func prepared(
        _ verb: ProposedChange.Verb, _ userId: String, _ object: JSON, _ request: ServiceRequest
    ) async throws -> ProposedChange {
        var change = ProposedChange(
            verb: verb, className: "_User", objectId: userId, object: object, principal: request.envelope.principal,
            for: request)
        change.caller = .master
        try await rules.prepare(&change)
        return change
    }

    private static func noted(_ user: JSON?) -> JSON {
        .object((user?.objectValue ?? [:]).filter { AccountEdit.fields.contains($0.key) })
    }
}

extension ServiceRequest {
    /// Requires an admin if the account is an operator's. Support may only handle accounts and sessions of customers.
    /// - Throws: `.operationForbidden` (119).
    func requireReach(of userId: String, _ reader: ObjectReader) throws {
        guard !isFromAdmin, try OperatorRoles.isHeld(by: userId, reader) else { return }
        throw ParseError(.operationForbidden, "Only an admin may do this with an operator's account.")
    }
}
