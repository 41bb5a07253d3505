import ObjectStore
import ParseProtocol
import ServiceKit

/// A change of a user's second factor, from the client's wish to the recovery codes in the answer.
struct SecondFactorChange {
    let wish: SecondFactorWish
    let isMaster: Bool
    let key: AccountKey

    private static let stepNote = "secondFactorStep"
    private static let codesNote = "recoveryCodes"

    /// Decides before the transaction what can be decided there: whether the app has the secret, and whether somebody
    /// guesses.
    /// - Throws: `.unsupportedService` (252) where second factors are off, `.scriptFailed` (141) for a wrong code,
    ///   `.mfaTokenRequired` (211) without the code of the present one.
    func prepare(_ change: inout ProposedChange, isOffered: Bool, store: ClassStore) async throws {
        let old: String?
        switch wish {
        case .keep: return
        case .prove:
            // Beside a provider's proof it is part of a sign-in, which looks at it.
            guard change.verb == .create else { throw SecondFactors.malformed }
            guard isOffered else { throw AuthProvider.unsupported }
            return
        case .remove(let code): old = code
        case .enrol(let secret, let token, let code):
            guard isOffered else { throw AuthProvider.unsupported }
            guard let step = OneTimePassword(secret: secret).step(of: token, at: .now) else {
                throw SecondFactors.invalid
            }
            change.notes[Self.stepNote] = .int(step)
            old = code
        }
        guard !isMaster, change.verb == .update else { return }
        let userId = try change.requiredObjectId
        let isRecognised = try await store.write { [key] in
            try SecondFactors.recognises(old, of: userId, key, in: $0)
        }
        guard isRecognised else { throw SecondFactors.invalid }
    }

    /// Changes what is stored, within the change's transaction.
    /// - Throws: `.scriptFailed` (141) when the code of the present one has been used meanwhile.
    func commit(_ change: inout ProposedChange, of userId: String, in transaction: StoreTransaction) throws {
        switch wish {
        case .keep, .prove: return
        case .remove(let old):
            try giveUp(old, of: userId, in: transaction)
            try SecondFactors.remove(of: userId, in: transaction)
        case .enrol(let secret, _, let old):
            try giveUp(old, of: userId, in: transaction)
            guard let step = change.notes[Self.stepNote]?.intValue else { throw ParseError.internalError }
            let codes = try SecondFactors.enrol(userId, secret: secret, step: step, key: key, in: transaction)
            change.notes[Self.codesNote] = .string(codes.joined(separator: ", "))
        }
    }

    private func giveUp(_ old: String?, of userId: String, in transaction: StoreTransaction) throws {
        guard !isMaster, try SecondFactors.isEnrolled(userId, transaction) else { return }
        guard let old, try SecondFactors.use(old, of: userId, key: key, in: transaction) else {
            throw SecondFactors.invalid
        }
    }

    /// The part of the answer that tells the recovery codes, once.
    static func response(_ change: ProposedChange) -> JSON? {
        change.notes[codesNote].map { [SecondFactors.name: ["recovery": $0]] }
    }
}
