import ObjectStore
import ParseProtocol

/// `authData` in a user's own answers: whole, as the client sent it, or absent.
///
/// SDKs replace what they know by what an answer says and ask each provider to go on with it. A part of a proof fails
/// there, and the SDK unlinks the account by itself. Only ids are kept of proofs, so that nothing but the answer to the
/// request that brought them shows them.
enum OwnAuthData {
    /// The user's document as that user is told it.
    /// - Parameter proofs: those that came with the request and were found to hold.
    static func shown(
        _ user: JSON, of userId: String, with proofs: [AuthProof] = [], _ key: AccountKey, _ reader: some ObjectReading
    ) throws -> JSON {
        guard let stored = user["authData"]?.objectValue else { return user }
        var whole: [String: JSON] = [:]
        for (name, value) in stored {
            whole[name] = try shown(value, name, of: userId, with: proofs, key, reader)
        }
        var user = user
        user["authData"] = whole.count == stored.count ? .object(whole) : nil
        return user
    }

    /// The whole `authData` of one provider; nil when only a part of it could be shown.
    private static func shown(
        _ value: JSON, _ name: String, of userId: String, with proofs: [AuthProof], _ key: AccountKey,
        _ reader: some ObjectReading
    ) throws -> JSON? {
        switch name {
        case SecondFactors.name: return value
        case AnonymousIds.name:
            guard value == AnonymousIds.mark else { return value }
            return try AnonymousIds.id(of: userId, key, reader).map { ["id": .string($0)] }
        default:
            return proofs.first { $0.provider.rawValue == name && .string($0.id) == value["id"] }?.sent
        }
    }
}
