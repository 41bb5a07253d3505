import Foundation
import HTTPTypes
import Messages
import ParseProtocol
import ProcessKit

/// The shopper's session and the cookies.
extension StorefrontController {
    /// Browsers limit a cookie's age to 400 days; the session's own end decides.
    private static let cookieSeconds = 400 * 86_400

    /// The visit of the browser's session. Without a session, or after its end, the shopper is nobody.
    func begin(_ request: ParseRequest, _ router: ParseRouter) async throws(ParseError) -> Visit {
        let visitor = Principal.of(network: request.network)
        var visit = Visit(principal: visitor)
        if let sealed = Self.cookie(keptName, in: request.headers) {
            visit.kept = keptValues.opened(sealed, for: request.path)
        }
        guard let token = Self.cookie(cookieName, in: request.headers) else { return visit }
        var credentials = Credentials()
        credentials.sessionToken = token
        do throws(ParseError) {
            visit.principal = try await router.principals.signIn(visitor, credentials, in: request.call)
            visit.token = token
        } catch {
            guard error.code == .invalidSessionToken else { throw error }
            visit.hasEnded = true
        }
        return visit
    }

    /// The paths whose responses repeat the session's token.
    static let tokenPaths: Set<String> = ["users/me", "sessions/me"]

    /// Takes the session's token out of a response.
    static func withoutToken(_ body: [UInt8]) -> (token: String?, rest: [UInt8]) {
        guard case .object(var members)? = try? JSON(parsing: body),
            let token = members.removeValue(forKey: "sessionToken")?.stringValue
        else { return (nil, body) }
        return (token, JSON.object(members).serialized)
    }

    /// Takes the session's token out of a response, and makes it the browser's.
    /// - Returns: the rest of the response.
    func beginSession(
        _ body: [UInt8], _ visit: inout Visit, _ request: ParseRequest, _ router: ParseRouter
    ) async throws(ParseError) -> [UInt8] {
        let parts = Self.withoutToken(body)
        guard let token = parts.token else { return body }
        var credentials = Credentials()
        credentials.sessionToken = token
        visit.principal = try await router.principals.signIn(
            .of(network: request.network), credentials, in: request.call)
        visit.token = token
        visit.hasBegun = true
        return parts.rest
    }

    /// Over HTTPS, a name with which browsers refuse a cookie that another host or path set.
    var cookieName: String { isSecure ? "__Host-satchel" : "satchel" }
    private var isSecure: Bool { configuration.publicURL.hasPrefix("https:") }

    var keptName: String { cookieName + "-kept" }

    func set(_ name: String, to value: String, seconds: Int, in response: inout ParseResponse) {
        let cookie =
            "\(name)=\(value); Path=/; Max-Age=\(seconds); HttpOnly; SameSite=Lax" + (isSecure ? "; Secure" : "")
        response.headers.append(HTTPField(name: .setCookie, value: cookie))
    }

    /// - Parameter ends: whether the page ends the session.
    func setSession(_ visit: Visit, ends: Bool, in response: inout ParseResponse) {
        if visit.hasBegun, let token = visit.token {
            set(cookieName, to: token, seconds: Self.cookieSeconds, in: &response)
        } else if visit.hasEnded || ends {
            set(cookieName, to: "", seconds: 0, in: &response)
        }
    }

    /// The value of a cookie that occurs once.
    static func cookie(_ name: String, in headers: HTTPFields) -> String? {
        var found: String?
        for field in headers[values: .cookie] {
            for pair in field.split(separator: ";") {
                let pair = pair.drop { $0 == " " }
                guard pair.hasPrefix(name + "=") else { continue }
                guard found == nil else { return nil }
                found = String(pair.dropFirst(name.count + 1))
            }
        }
        return found?.isEmpty == false ? found : nil
    }

    /// Whether a page of another site sent a form. Browsers say so in one of two headers, and other clients in none.
    func isForeign(_ request: ParseRequest) -> Bool {
        if let site = request.headers[headerName("Sec-Fetch-Site")] { return site != "same-origin" && site != "none" }
        guard let origin = request.headers[.origin] else { return false }
        return !FormOrigin.isOwn(origin, host: request.host, shop: WebOrigin.of(configuration.publicURL))
    }
}
