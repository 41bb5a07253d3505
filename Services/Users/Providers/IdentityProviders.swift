import Logging
import Outbound
import ParseProtocol
import ProcessKit

/// A configured identity provider. One that is not configured has no object.
protocol IdentityProvider: Sendable {
    /// Returns when the proof is valid for the claimed user.
    /// - Throws: `ProviderProblem`.
    func verify(_ proof: AuthProof) async throws(ProviderProblem)
}

/// The reason why a proof was not accepted.
enum ProviderProblem: Error {
    /// It does not prove the claim, or not to this shop.
    case refused(String)
    /// Undecided: the provider was not reachable, or its answer was invalid.
    case unavailable(String)
}

/// The configured providers. All others are refused with `.unsupportedService` (252).
package struct IdentityProviders: Sendable {
    private let providers: [AuthProvider: any IdentityProvider]
    private let webSignIns: [AuthProvider: any WebSignInProvider]
    private let logger: Logger

    /// No providers.
    package init() {
        providers = [:]
        webSignIns = [:]
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
        var webSignIns: [AuthProvider: any WebSignInProvider] = [:]
        webSignIns[.facebook] = try FacebookWebSignIn(settings, client)
        webSignIns[.twitter] = try TwitterWebSignIn(settings, client)
        webSignIns[.apple] = try OpenIDWebSignIn(apple: settings, client)
        webSignIns[.google] = try OpenIDWebSignIn(google: settings, client)
        self.webSignIns = webSignIns
        logger = Logger(label: "users.providers")
    }

    /// - Throws: `.unsupportedService` (252) for a provider that is not configured, `.objectNotFound` (101) for an
    ///   invalid proof, `.serviceUnavailable` (2) when the proof cannot be checked now.
    func verify(_ proof: AuthProof) async throws(ParseError) {
        guard let provider = providers[proof.provider] else { throw AuthProvider.unsupported }
        do throws(ProviderProblem) {
            try await provider.verify(proof)
        } catch {
            throw refusal(by: proof.provider, error)
        }
    }

    // MARK: - Browsers

    /// The providers where browsers can log in, in a fixed order.
    var webProviders: [AuthProvider] { AuthProvider.allCases.filter { webSignIns[$0] != nil } }

    /// - Throws: as `verify`.
    func beginWebSignIn(_ provider: AuthProvider, returningTo url: String) async throws(ParseError) -> WebSignInStart {
        try await web(provider) { (web: any WebSignInProvider) async throws(ProviderProblem) in
            try await web.begin(returningTo: url)
        }
    }

    /// - Returns: the proof for `authData`, which `verify` checks.
    /// - Throws: as `verify`.
    func endWebSignIn(
        _ provider: AuthProvider, _ query: JSON, _ kept: JSON, returningTo url: String
    ) async throws(ParseError) -> JSON {
        try await web(provider) { (web: any WebSignInProvider) async throws(ProviderProblem) in
            try await web.end(query, kept, returningTo: url)
        }
    }

    private func web<Value: Sendable>(
        _ provider: AuthProvider, _ step: (any WebSignInProvider) async throws(ProviderProblem) -> Value
    ) async throws(ParseError) -> Value {
        guard let web = webSignIns[provider] else { throw AuthProvider.unsupported }
        do throws(ProviderProblem) {
            return try await step(web)
        } catch {
            throw refusal(by: provider, error)
        }
    }

    /// The client's error. The log has the reason.
    private func refusal(by provider: AuthProvider, _ problem: ProviderProblem) -> ParseError {
        switch problem {
        case .refused(let why):
            logger.info("A sign-in was refused.", metadata: details(provider, why))
            return provider.refused
        case .unavailable(let why):
            logger.warning("A provider of identities could not be asked.", metadata: details(provider, why))
            return provider.unavailable
        }
    }

    private func details(_ provider: AuthProvider, _ why: String) -> Logger.Metadata {
        ["auth.provider": "\(provider.rawValue)", "auth.problem": "\(why)"]
    }
}

extension Settings {
    /// A provider's base URL without a trailing slash.
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
    /// A sign-in sends at most two requests, and its client times out after 10 s.
    static let identityPatience = Duration.seconds(4)
    private static let answerBytesMax = 256 << 10

    /// A provider's answer as a JSON object.
    /// - Throws: `refused` for a 4xx, the providers' answer to a bad token; `unavailable` for all other failures: no
    ///   connection, timeout, 429, 5xx, a redirect, an incomplete answer, or text that is not a JSON object.
    func object(_ url: String, headers: [(name: String, value: String)] = []) async throws(ProviderProblem) -> JSON {
        try await object(OutboundRequest(.get, url, headers: headers, timeout: Self.identityPatience))
    }

    /// As `object`, for any request.
    func object(_ request: OutboundRequest) async throws(ProviderProblem) -> JSON {
        let body = try await text(request)
        guard let answer = try? JSON(parsing: body), case .object = answer else {
            throw .unavailable("The answer is no JSON object.")
        }
        return answer
    }

    /// The bytes of an answer with status 200.
    /// - Throws: as `object`.
    func text(_ request: OutboundRequest) async throws(ProviderProblem) -> [UInt8] {
        var request = request
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
        return response.body
    }
}
