import Cryptography
import Foundation
import ParseProtocol

/// What a page of the storefront keeps for the next one: a form with its problem, or the state of a log-in. It travels
/// in a cookie that only the shop's gateways can read, so that no URL, history or log has it.
package struct KeptValues: Sendable {
    private let key: SymmetricKey

    /// The time for a log-in at a provider, or for the code of a second factor.
    package static let seconds: Int64 = 600
    /// Proxies give all headers of a response four kilobytes by default.
    private static let bytesMax = 2000

    package init(masterKey: String) {
        key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: Array(masterKey.utf8)), info: Array("satchel.gateway.kept".utf8),
            outputByteCount: 32)
    }

    /// The cookie's value. The longest texts are left out when it would be too long.
    /// - Parameter path: of the page that gets the values.
    /// - Returns: nil when there is nothing to keep.
    package func sealed(_ values: [String: String], for path: [Substring], at now: Timestamp = .now) -> String? {
        var values = values
        while !values.isEmpty {
            let text: JSON = [
                "until": .int(now.milliseconds + Self.seconds * 1000),
                "values": .object(values.mapValues { .string($0) }),
            ]
            let plain = text.serialized
            guard plain.count > Self.bytesMax else {
                let box = try? AES.GCM.seal(plain, using: key, authenticating: Self.context(path))
                return box.map { Data($0.combined).base64EncodedString() }
            }
            guard let longest = values.max(by: { $0.value.utf8.count < $1.value.utf8.count })?.key else { return nil }
            values[longest] = nil
        }
        return nil
    }

    /// - Returns: nothing for a value of another path, another shop, or one that is too old.
    package func opened(_ value: String, for path: [Substring], at now: Timestamp = .now) -> [String: String] {
        guard let bytes = Data(base64Encoded: value), let box = try? AES.GCM.SealedBox(combined: Array(bytes)),
            let plain = try? AES.GCM.open(box, using: key, authenticating: Self.context(path)),
            let text = try? JSON(parsing: plain), let until = text["until"]?.intValue, until > now.milliseconds
        else { return [:] }
        return (text["values"]?.objectValue ?? [:]).compactMapValues(\.stringValue)
    }

    private static func context(_ path: [Substring]) -> [UInt8] { Array(path.joined(separator: "/").utf8) }
}
