import Foundation
import HTTPTypes
import ParseProtocol

/// What a client says about itself, in headers or tunnelled in the body (PARSE_PROTOCOL section 1).
struct Credentials: Sendable {
    var applicationId: String?
    var masterKey: String?
    var clientKeys: [GatewayConfiguration.ClientKey: String] = [:]
    var sessionToken: String?
    var installationId: String?
    /// `_ContentType` of a tunnelled file.
    var contentType: String?
    /// The SDK and its version, as it says.
    var clientVersion: String?

    init() {}

    init(headers: HTTPFields) {
        for field in headers {
            // One pass over the fields; a look-up for each of the eight names would be eight.
            switch field.name.canonicalName {
            case "x-parse-application-id": applicationId = field.value
            case "x-parse-session-token": sessionToken = field.value.isEmpty ? nil : field.value
            case "x-parse-master-key": masterKey = field.value.isEmpty ? nil : field.value
            case "x-parse-rest-api-key": clientKeys[.rest] = field.value
            case "x-parse-javascript-key": clientKeys[.javascript] = field.value
            case "x-parse-client-key", "x-parse-windows-key": clientKeys[.client] = field.value
            case "x-parse-installation-id": installationId = field.value
            case "x-parse-client-version": clientVersion = field.value
            case "authorization" where applicationId == nil: readBasic(field.value)
            default: break
            }
        }
    }

    /// HTTP Basic: `appId:masterKey`, or `appId:javascript-key=<key>`.
    private mutating func readBasic(_ value: String) {
        guard value.hasPrefix("Basic "), let data = Data(base64Encoded: String(value.dropFirst(6))),
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
    /// - Throws: 107 when one of them is not a string.
    mutating func take(from body: inout [String: JSON]) throws(ParseError) -> String? {
        func take(_ key: String) throws(ParseError) -> String? {
            guard let value = body.removeValue(forKey: key) else { return nil }
            guard case .string(let text) = value else { throw ParseError(.invalidJSON, "\(key) must be a string.") }
            return text
        }
        let method = try take("_method")
        if let id = try take("_ApplicationId"), applicationId == nil { applicationId = id }
        if let key = try take("_JavaScriptKey") { clientKeys[.javascript] = key }
        if let key = try take("_MasterKey"), !key.isEmpty { masterKey = key }
        if let token = try take("_SessionToken"), !token.isEmpty { sessionToken = token }
        if let id = try take("_InstallationId") { installationId = id }
        contentType = try take("_ContentType")
        if let version = try take("_ClientVersion") { clientVersion = version }
        _ = try take("_RevocableSession")
        body["_context"] = nil
        body["_noBody"] = nil
        return method
    }
}
