import ObjectStore
import ParseProtocol

/// `authData` in answers to its user: complete, as the client sent it, or absent.
///
/// SDKs replace their local `authData` by the one in an answer and pass it to each provider. There an incomplete proof
/// fails, and the SDK unlinks the account. Only ids of proofs are stored, so only the answer to the request with the
/// proofs contains them.
enum OwnAuthData {
    /// The user's document as shown to that user.
    /// - Parameter proofs: the verified proofs of the request.
    static func shown(
        _ user: JSON, of userId: String, with proofs: [AuthProof] = [], _ key: AccountKey, _ reader: ObjectReader
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

    /// The complete `authData` of one provider; nil if only a part is known.
    private static func shown(
        _ value: JSON, _ name: String, of userId: String, with proofs: [AuthProof], _ key: AccountKey,
        _ reader: ObjectReader
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
