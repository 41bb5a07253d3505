import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

extension UserRules {
    /// Answers `POST /users`.
    /// - Parameter isReturnOnly: whether to create nothing if the verified proofs belong to no user yet.
    func signUp(
        _ message: AccountRequest, _ request: ServiceRequest, host: ServiceHost, isReturnOnly: Bool = false
    ) async throws -> BusReply {
        let object = try request.document()
        try ProposedChange.requireUnnamed(object)
        var change = ProposedChange(
            verb: .create, className: "_User", objectId: nil, object: object, principal: request.envelope.principal,
            for: request)
        try await prepareSignUp(&change)
        let reply = try await host.commit(request) { [change] transaction in
            var signUp = try self.signUp(change)
            let userId = try signUp.returning(transaction)
            if isReturnOnly, userId == nil { return try SessionAnswers.account([:]) }
            if let userId, try SecondFactors.isAsked(of: userId, settings, transaction) {
                guard
                    try SecondFactors.admits(
                        KnownDevices.attempt(on: userId, by: change.principal, key, transaction),
                        signUp.fields.secondFactor.proof, key, in: transaction)
                else { return try SessionAnswers.secondFactorRefused() }
                signUp.isSecondFactorProven = true
            }
            let outcome = try commit(signUp, of: change, in: transaction)
            let isSignedIn = outcome.answer["sessionToken"]?.stringValue != nil
            let merged =
                try AnonymousMerge.perform(
                    from: message.previousSessionToken, to: outcome.objectId, messages: messages, key: key,
                    in: transaction)
                ?? AnonymousMerge.copy(
                    fromInstallation: isSignedIn ? request.caller.installationId : nil, to: outcome.objectId,
                    messages: messages, in: transaction)
            return try SessionAnswers.account(
                outcome.answer, created: outcome.before == nil, forget: outcome.forget, merged: merged)
        }
        _ = try SessionAnswers.accepted(reply)
        await AnonymousMerge.settle(reply, messages: messages, for: request.share)
        return reply
    }

    /// Failed provider proofs count like wrong passwords, because each one causes a request to a provider. An anonymous
    /// id does not count: the first start of an app must not depend on failures of other clients.
    private func prepareSignUp(_ change: inout ProposedChange) async throws {
        // The permission is checked before the fields are interpreted.
        try await store.authorize(change)
        let fields = try AccountFields(change.object, isMaster: change.caller.isMaster)
        guard !fields.proofs.isEmpty, !change.caller.isMaster else { return try await prepare(&change) }
        let (principal, share) = (change.principal, change.request?.share)
        let network = SignInSubject.proofs(principal.network)
        let isOpen = try await store.read(for: share) { [key] reader in
            guard let counter = try SignInFailures.counters([network], reader)[network],
                counter.failures >= network.failuresMax, counter.endsAt > .now
            else { return true }
            // A device that signed in before with one of the proofs is exempt.
            return try fields.identities(hasPassword: false).contains { identity in
                guard let userId = try Identities.owner(of: identity, key, reader) else { return false }
                return try KnownDevices.attempt(on: userId, by: principal, key, reader).device != nil
            }
        }
        if !isOpen { try paces.admit("proofs:\(principal.network)") }
        do {
            try await prepare(&change)
        } catch let error as ParseError where error.code == .objectNotFound {
            try await store.write(for: share) { try SignInFailures.count(network, in: $0) }
            throw error
        }
    }
}
