import ObjectStore
import ParseProtocol
import ServiceKit

/// The provider links sent with a sign-in by password: proofs are added, nulls remove links.
struct SignInLinks: Sendable {
    private let fields: AccountFields

    /// - Parameter authData: without the second factor.
    /// - Throws: `.unsupportedService` (252) for an unknown provider, `.invalidAuthData` (253) for an invalid value.
    init(_ authData: [String: JSON]) throws {
        fields = try AccountFields(["authData": .object(authData)], isMaster: false)
    }

    var proofs: [AuthProof] { fields.proofs }

    /// Verifies the proofs with the providers, after the password was correct. A wrong proof counts as a failure of the
    /// account's owner.
    /// - Throws: `.objectNotFound` (101) for an invalid proof, `.unsupportedService` (252) for a provider that is not
    ///   configured, `.serviceUnavailable` (2) when the proof cannot be checked.
    func verify(
        for userId: String, _ providers: IdentityProviders, _ store: ClassStore, share: WorkShare
    ) async throws {
        guard !proofs.isEmpty else { return }
        let guesser = SignInSubject.owner(userId)
        try await store.read(for: share) { try SignInFailures.check(guesser, at: .now, $0) }
        var refusal: ParseError?
        do throws(ParseError) {
            for proof in proofs { try await providers.verify(proof) }
        } catch {
            refusal = error
        }
        guard let refusal else { return }
        if refusal.code == .objectNotFound {
            try await store.write(for: share) { try SignInFailures.count(guesser, in: $0) }
        }
        throw refusal
    }

    /// Adds and removes the links.
    /// - Returns: whether anything changed.
    /// - Throws: `.accountAlreadyLinked` (208) for a link of another user.
    func commit(to userId: String, _ key: AccountKey, in transaction: StoreTransaction) throws -> Bool {
        let stored = try AnonymousIds.opened(
            transaction.document("_User", userId, caller: .master), of: userId, key, transaction)
        // The user has a password: this sign-in used it.
        let update = try AccountUpdate(linking: fields, to: stored, hasPassword: true)
        let changes = try update.updateIdentities(of: userId, key, in: transaction)
        if changes.isEmpty { return false }
        _ = try transaction.update("_User", userId, .object(changes), caller: .master)
        return true
    }
}
