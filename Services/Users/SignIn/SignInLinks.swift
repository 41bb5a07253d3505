import ObjectStore
import ParseProtocol
import ServiceKit

/// The links that somebody brings who signs in with a password: proofs of providers, which are added, and nulls, which
/// remove.
struct SignInLinks: Sendable {
    private let fields: AccountFields

    /// - Parameter authData: without the second factor.
    /// - Throws: `.unsupportedService` (252) for a provider that is none, `.invalidAuthData` (253) for a value that
    ///   cannot be a proof.
    init(_ authData: [String: JSON]) throws {
        fields = try AccountFields(["authData": .object(authData)], isMaster: false)
    }

    var proofs: [AuthProof] { fields.proofs }

    /// Asks the providers, when the password was right. A wrong proof is a guess of whoever knows the password.
    /// - Throws: `.objectNotFound` (101) for a proof that does not hold, `.unsupportedService` (252) for a provider
    ///   that is not configured, `.serviceUnavailable` (2) when nobody can tell.
    func verify(for userId: String, _ providers: IdentityProviders, _ store: ClassStore) async throws {
        guard !proofs.isEmpty else { return }
        let guesser = SignInSubject.owner(userId)
        try await store.read { try SignInFailures.check(guesser, at: .now, $0) }
        var refusal: ParseError?
        do throws(ParseError) {
            for proof in proofs { try await providers.verify(proof) }
        } catch {
            refusal = error
        }
        guard let refusal else { return }
        if refusal.code == .objectNotFound {
            try await store.write { try SignInFailures.count(guesser, in: $0) }
        }
        throw refusal
    }

    /// Adds and removes the links.
    /// - Returns: whether anything changed.
    /// - Throws: `.accountAlreadyLinked` (208) for another user's.
    func commit(to userId: String, _ key: AccountKey, in transaction: StoreTransaction) throws -> Bool {
        let stored = try AnonymousIds.opened(
            transaction.document("_User", userId, caller: .master), of: userId, key, transaction)
        // There is a password: it was just given.
        let update = try AccountUpdate(linking: fields, to: stored, hasPassword: true)
        let changes = try update.settleNames(of: userId, key, in: transaction)
        if changes.isEmpty { return false }
        _ = try transaction.update("_User", userId, .object(changes), caller: .master)
        return true
    }
}
