import Logging
import Outbound
import ParseProtocol
import ProcessKit

/// A configured identity provider, which vouches for users. One that is not configured has no object.
protocol IdentityProvider: Sendable {
    /// Returns when the proof shows that the user is who it claims.
    /// - Throws: `ProviderProblem`.
    func verify(_ proof: AuthProof) async throws(ProviderProblem)
}

/// The reason for which a proof did not count.
enum ProviderProblem: Error {
    /// It does not prove the claim, or not to this shop.
    case refused(String)
    /// Nobody can tell: the provider could not be asked, or its answer made no sense.
    case unavailable(String)
}

/// The providers that settings name. Everything else is refused with `.unsupportedService` (252).
package struct IdentityProviders: Sendable {
    private let providers: [AuthProvider: any IdentityProvider]
    private let logger: Logger

    /// None at all.
    package init() {
        providers = [:]
        logger = Logger(label: "users.providers")
    }

    /// - Throws: `StartupProblem`.
    init(_ settings: Settings) throws {
        let client = OutboundClient(authorities: settings["satchel.ca.file"])
        var providers: [AuthProvider: any IdentityProvider] = [:]
        providers[.facebook] = try FacebookProvider(settings, client)
        providers[.twitter] = try TwitterProvider(settings, client)
        providers[.apple] = try TokenProvider(.apple, settings, client)
        providers[.google] = try TokenProvider(.google, settings, client)
        self.providers = providers
        logger = Logger(label: "users.providers")
    }

    /// - Throws: `.unsupportedService` (252) for a provider that is not configured, `.objectNotFound` (101) for a proof
    ///   that does not hold, `.serviceUnavailable` (2) when nobody can tell now.
    func verify(_ proof: AuthProof) async throws(ParseError) {
        guard let provider = providers[proof.provider] else { throw AuthProvider.unsupported }
        do throws(ProviderProblem) {
            try await provider.verify(proof)
        } catch {
            // The operator sees why; the client learns only that.
            switch error {
            case .refused(let why):
                logger.info("A sign-in was refused.", metadata: details(proof, why))
                throw proof.provider.refused
            case .unavailable(let why):
                logger.warning("A provider of identities could not be asked.", metadata: details(proof, why))
                throw proof.provider.unavailable
            }
        }
    }

    private func details(_ proof: AuthProof, _ why: String) -> Logger.Metadata {
        ["auth.provider": "\(proof.provider.rawValue)", "auth.problem": "\(why)"]
    }
}

extension Settings {
    /// A provider's base URL without a slash at the end.
    /// - Throws: `StartupProblem` for anything but `http://` or `https://`.
    func providerURL(_ key: String, default standard: String) throws(StartupProblem) -> String {
        var url = text(key, default: standard)
        while url.hasSuffix("/") { url.removeLast() }
        guard url.hasPrefix("https://") || url.hasPrefix("http://") else {
            throw wrong(key, "must start with https://.")
        }
        return url
    }
}

extension OutboundClient {
    /// A sign-in asks at most twice, and its client waits 10 s.
    static let identityPatience = Duration.seconds(4)
    private static let answerBytesMax = 256 << 10

    /// A provider's answer as a JSON object.
    /// - Throws: `refused` for a 4xx, which is what providers answer to a bad token; `unavailable` for everything else
    ///   that is not an answer: no connection, time over, 429, 5xx, a redirect, half an answer, text that is no object.
    func object(_ url: String, headers: [(name: String, value: String)] = []) async throws(ProviderProblem) -> JSON {
        var request = OutboundRequest(.get, url, headers: headers, timeout: Self.identityPatience)
        request.answerBytesMax = Self.answerBytesMax
        let response: OutboundResponse
        do throws(OutboundFailure) {
            response = try await send(request)
        } catch {
            throw .unavailable(error.reason.rawValue)
        }
        switch response.status {
        case 200: break
        case 429: throw .unavailable("HTTP 429")
        case 400..<500: throw .refused("HTTP \(response.status)")
        default: throw .unavailable("HTTP \(response.status)")
        }
        guard let answer = try? JSON(parsing: response.body), case .object = answer else {
            throw .unavailable("The answer is no JSON object.")
        }
        return answer
    }
}

extension String {
    /// As RFC 3986 and OAuth 1.0 (RFC 5849, 3.6) write a value: everything but letters, digits and `-._~` as `%XX`.
    var percentEncoded: String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                bytes.append(byte)
            default: bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
