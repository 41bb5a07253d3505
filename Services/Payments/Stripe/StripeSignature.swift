import Cryptography
import Foundation
import ParseProtocol

/// The header `Stripe-Signature: t=<seconds>,v1=<hex>[,v1=…]`: HMAC-SHA256 of `<t>.<body>` with the endpoint's secret
/// (https://docs.stripe.com/webhooks#verify-manually). There are several `v1` while a secret is being replaced.
package struct StripeSignature: Sendable {
    /// Same as in Stripe's libraries. Bounds how long a recorded event can be replayed.
    package static let tolerance = Duration.seconds(300)
    /// There are two during a replacement; more indicate an attack.
    private static let signaturesMax = 8

    private let time: Int64
    private let timeText: Substring
    private let signatures: [[UInt8]]

    /// Nil when the header is not of this form.
    package init?(_ header: String) {
        var found: (text: Substring, value: Int64)?
        var signatures: [[UInt8]] = []
        for part in header.split(separator: ",") {
            let pair = part.split(separator: "=", maxSplits: 1)
            guard pair.count == 2 else { return nil }
            switch pair[0].trimmingCharacters(in: .whitespaces) {
            case "t":
                guard found == nil, let value = Int64(pair[1]), value >= 0 else { return nil }
                found = (pair[1], value)
            case "v1":
                guard signatures.count < Self.signaturesMax, let bytes = [UInt8](hex: pair[1]),
                    bytes.count == SHA256.byteCount
                else { return nil }
                signatures.append(bytes)
            default: continue  // Older schemes prove nothing.
            }
        }
        guard let found, !signatures.isEmpty else { return nil }
        (timeText, time) = found
        self.signatures = signatures
    }

    /// Whether `secret` signed `body`, at a time within the tolerance of `now`.
    package func isValid(for body: [UInt8], secret: String, at now: Timestamp) -> Bool {
        let (distance, overflow) = (now.milliseconds / 1000).subtractingReportingOverflow(time)
        guard !overflow, distance.magnitude <= UInt64(Self.tolerance.components.seconds) else { return false }
        let message = Array(timeText.utf8) + [UInt8(ascii: ".")] + body
        let key = SymmetricKey(data: Array(secret.utf8))
        // Compares all signatures, each in constant time, so that the duration reveals nothing.
        return signatures.reduce(false) { isValid, signature in
            HMAC<SHA256>.isValidAuthenticationCode(signature, authenticating: message, using: key) || isValid
        }
    }
}
