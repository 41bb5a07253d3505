import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

extension UserRules {
    /// Answers `POST /users`.
    func signUp(_ message: AccountRequest, _ request: ServiceRequest, host: ServiceHost) async throws -> BusReply {
        let object = try request.document()
        try ProposedChange.requireUnnamed(object)
        var change = ProposedChange(
            verb: .create, className: "_User", objectId: nil, object: object, principal: request.envelope.principal)
        try await prepareSignUp(&change)
        let reply = try await host.commit(request) { [change] transaction in
            var signUp = try self.signUp(change)
            if settings.asksSecondFactor, let userId = try signUp.returning(transaction) {
                guard
                    try SecondFactors.admits(
                        KnownDevices.attempt(on: userId, by: change.principal, key, transaction),
                        signUp.fields.secondFactor.proof, key, in: transaction)
                else { return try SessionAnswers.secondFactorRefused() }
                signUp.isSecondFactorProven = true
            }
            let outcome = try commit(signUp, of: change, in: transaction)
            let merged = try AnonymousMerge.perform(
                from: message.previousSessionToken, to: outcome.objectId, messages: messages, key: key,
                in: transaction)
            return try SessionAnswers.account(
                outcome.answer, created: outcome.before == nil, forget: outcome.forget, merged: merged)
        }
        _ = try SessionAnswers.accepted(reply)
        await AnonymousMerge.settle(reply, messages: messages)
        return reply
    }

    /// Proofs of providers that do not hold count like wrong passwords: each makes us ask a provider. An anonymous id
    /// is no such proof: the first start of an app depends on nobody else's mistakes.
    private func prepareSignUp(_ change: inout ProposedChange) async throws {
        // Before anything that the fields say is looked at.
        try await store.authorize(change)
        let fields = try AccountFields(change.object, isMaster: change.caller.isMaster)
        guard !fields.proofs.isEmpty, !change.caller.isMaster else { return try await prepare(&change) }
        let principal = change.principal
        let network = SignInSubject.proofs(principal.network)
        let isOpen = try await store.read { [key] reader in
            guard let counter = try SignInFailures.counters([network], reader)[network],
                counter.failures >= network.failuresMax, counter.endsAt > .now
            else { return true }
            // Who signed in here before with one of the proofs is no guesser.
            return try fields.identities(hasPassword: false).contains { identity in
                guard let userId = try Identities.owner(of: identity, key, reader) else { return false }
                return try KnownDevices.attempt(on: userId, by: principal, key, reader).device != nil
            }
        }
        if !isOpen { try paces.admit("proofs:\(principal.network)") }
        do {
            try await prepare(&change)
        } catch let error as ParseError where error.code == .objectNotFound {
            try await store.write { try SignInFailures.count(network, in: $0) }
            throw error
        }
    }
}
