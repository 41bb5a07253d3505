import ObjectStore
import ParseProtocol
import ServiceKit

/// A change of a user's second factor, from the client's request to the recovery codes in the answer.
struct SecondFactorChange {
    let wish: SecondFactorRequest
    let isMaster: Bool
    let key: AccountKey

    /// Marks an operator's own change, for whom second factors are never off.
    static let operatorNote = "operatorsFactor"
    private static let stepNote = "secondFactorStep"
    private static let codesNote = "recoveryCodes"

    /// Checks, before the transaction, that the app has the secret and that the client does not guess.
    /// - Throws: `.unsupportedService` (252) where second factors are off, `.scriptFailed` (141) for a wrong code,
    ///   `.mfaTokenRequired` (211) without the code of the present second factor.
    func prepare(_ change: inout ProposedChange, isOffered: Bool, store: ClassStore) async throws {
        let old: String?
        switch wish {
        case .keep: return
        case .prove:
            // Together with a provider's proof it belongs to a sign-in, which checks it.
            guard change.verb == .create else { throw SecondFactors.malformed }
            return
        case .remove(let code): old = code
        case .enrol(let secret, let token, let code):
            guard isOffered || change.notes[Self.operatorNote] == true else { throw AuthProvider.unsupported }
            guard let step = OneTimePassword(secret: secret).step(of: token, at: .now) else {
                throw SecondFactors.invalid
            }
            change.notes[Self.stepNote] = .int(step)
            old = code
        }
        guard !isMaster, change.verb == .update else { return }
        let userId = try change.requiredObjectId
        let isRecognised = try await store.write(for: change.request?.share) { [key] in
            try SecondFactors.recognises(old, of: userId, key, in: $0)
        }
        guard isRecognised else { throw SecondFactors.invalid }
    }

    /// Stores the change, within the transaction of the user's change.
    /// - Throws: `.scriptFailed` (141) when the code of the present second factor was used meanwhile.
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

    /// The part of the answer with the recovery codes, which are shown only once.
    static func response(_ change: ProposedChange) -> JSON? {
        change.notes[codesNote].map { [SecondFactors.name: ["recovery": $0]] }
    }
}
