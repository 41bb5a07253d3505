import Foundation
import HTTPTypes
import ParseProtocol

/// A client's statements about itself, in headers or tunnelled in the body (PARSE_PROTOCOL section 1).
struct Credentials: Sendable {
    var applicationId: String?
    var masterKey: String?
    var maintenanceKey: String?
    var clientKeys: [GatewayConfiguration.ClientKey: String] = [:]
    var sessionToken: String?
    var installationId: String?
    /// `_ContentType` of a tunnelled file.
    var contentType: String?
    /// The SDK and its version, as it says.
    var clientVersion: String?
    /// Somebody as whom an operator wants to look (`X-Satchel-As-User`); an empty text is nobody's id, and not nothing.
    var asUser: String?
    /// The client's context for webhooks: the header's text, or `_context` of a tunnelled body.
    var context: JSON?

    init() {}

    init(headers: HTTPFields) {
        var basic: String?
        for field in headers {
            // One pass over the fields; a look-up for each of the names would be many.
            switch field.name.canonicalName {
            case "x-parse-application-id": Self.set(&applicationId, field.value)
            case "x-parse-session-token": Self.set(&sessionToken, field.value)
            case "x-parse-master-key": Self.set(&masterKey, field.value)
            case "x-parse-maintenance-key": Self.set(&maintenanceKey, field.value)
            case "x-parse-rest-api-key": Self.set(&clientKeys[.rest], field.value)
            case "x-parse-javascript-key": Self.set(&clientKeys[.javascript], field.value)
            case "x-parse-client-key": Self.set(&clientKeys[.client], field.value)
            case "x-parse-windows-key": Self.set(&clientKeys[.windows], field.value)
            case "x-parse-installation-id": Self.set(&installationId, field.value)
            case "x-parse-client-version": clientVersion = field.value
            case "x-parse-cloud-context": context = .string(field.value)
            case "x-satchel-as-user": asUser = asUser.map { "\($0), \(field.value)" } ?? field.value
            case "authorization": basic = field.value
            default: break
            }
        }
        if applicationId == nil, let basic { readBasic(basic) }
    }

    /// An empty header is none. A header that comes twice is, as everywhere in HTTP, a list, and no list is a key:
    /// which of the two counts is not left to whoever looks first.
    private static func set(_ credential: inout String?, _ value: String) {
        guard !value.isEmpty else { return }
        credential = credential.map { "\($0), \(value)" } ?? value
    }

    /// HTTP Basic: `appId:masterKey`, or `appId:javascript-key=<key>`.
    private mutating func readBasic(_ value: String) {
        let parts = value.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "basic", let data = Data(base64Encoded: String(parts[1])),
            let text = String(data: data, encoding: .utf8), let colon = text.firstIndex(of: ":")
        else { return }
        applicationId = String(text[..<colon])
        let key = text[text.index(after: colon)...]
        if key.hasPrefix("javascript-key=") {
            clientKeys[.javascript] = String(key.dropFirst("javascript-key=".count))
        } else if !key.isEmpty {
            masterKey = String(key)
        }
    }

    /// Takes the credentials out of a body, as the JavaScript SDK puts them there, and returns the method it means.
    /// - Parameter knownId: the shop's application id; a header that says it is not overruled by the body.
    /// - Throws: `.invalidJSON` (107) when one of them is not a string.
    mutating func take(from body: inout [String: JSON], knownId: String) throws(ParseError) -> String? {
        func take(_ key: String) throws(ParseError) -> String? {
            guard let value = body.removeValue(forKey: key) else { return nil }
            guard case .string(let text) = value else { throw ParseError(.invalidJSON, "\(key) must be a string.") }
            return text
        }
        let method = try take("_method")
        if let id = try take("_ApplicationId"), applicationId != knownId { applicationId = id }
        if let key = try take("_JavaScriptKey") { clientKeys[.javascript] = key }
        if let key = try take("_MasterKey"), !key.isEmpty { masterKey = key }
        if let token = try take("_SessionToken"), !token.isEmpty { sessionToken = token }
        if let id = try take("_InstallationId") { installationId = id }
        contentType = try take("_ContentType")
        if let version = try take("_ClientVersion") { clientVersion = version }
        _ = try take("_RevocableSession")
        if let value = body.removeValue(forKey: "_context") { context = value }
        body["_noBody"] = nil
        return method
    }
}
