import Foundation
import HTTPTypes
import ParseProtocol

/// The client's credentials and statements about itself, from headers or a tunnelled body (PARSE_PROTOCOL section 1).
struct Credentials: Sendable {
    var applicationId: String?
    var masterKey: String?
    var maintenanceKey: String?
    var clientKeys: [GatewayConfiguration.ClientKey: String] = [:]
    var sessionToken: String?
    var installationId: String?
    /// `_ContentType` of a tunnelled file.
    var contentType: String?
    /// The SDK and its version, as sent by the client.
    var clientVersion: String?
    /// The user as whom an operator wants to view objects (`X-Satchel-As-User`). An empty text counts as an unknown id,
    /// not as a missing header.
    var asUser: String?
    /// The client's context for webhooks: the header's text, or `_context` of a tunnelled body.
    var context: JSON?

    init() {}

    init(headers: HTTPFields) {
        var basic: String?
        for field in headers {
            // One pass over the fields is faster than a look-up of every name.
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

    /// An empty header counts as missing. A repeated header is joined to a list, as everywhere in HTTP. A list is never
    /// a valid key, so that no component can pick one of the two values.
    private static func set(_ credential: inout String?, _ value: String) {
        guard !value.isEmpty else { return }
        credential = credential.map { "\($0), \(value)" } ?? value
    }

    /// HTTP Basic: `appId:masterKey`, or `appId:javascript-key=<key>`.
    private mutating func readBasic(_ value: String) {
        let parts = value.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "basic", let data = Data(base64Encoded: String(parts[1])),
            let text = String(data: data, encoding: .utf8), !text.exceedsMarkLimit, let colon = text.firstIndex(of: ":")
        else { return }
        applicationId = String(text[..<colon])
        let key = text[text.index(after: colon)...]
        if key.hasPrefix("javascript-key=") {
            clientKeys[.javascript] = String(key.dropFirst("javascript-key=".count))
        } else if !key.isEmpty {
            masterKey = String(key)
        }
    }

    /// Removes the credentials from a body, where the JavaScript SDK puts them, and returns the method in it.
    /// - Parameter knownId: the shop's application id; a header with this id takes precedence over the body.
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
