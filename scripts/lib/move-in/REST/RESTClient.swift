import Foundation
import Outbound
import ParseProtocol

/// Requests to an old server of the Parse protocol, with its master key.
struct RESTClient: Sendable {
    /// The URL for people: without a user and a password.
    let name: String
    private let url: String
    private let headers: [(name: String, value: String)]
    private let http: PatientHTTP

    private static let timeout = Duration.seconds(120)

    /// - Throws: `MoveInError` for a text that is no URL of a server.
    init(url: String, applicationId: String, masterKey: String, http: PatientHTTP) throws {
        guard var parts = URLComponents(string: url), ["http", "https"].contains(parts.scheme?.lowercased()),
            parts.host?.isEmpty == false, parts.query == nil, parts.fragment == nil
        else { throw MoveInError("The old server's URL is not of the form https://host/parse.") }
        while parts.path.hasSuffix("/") { parts.path.removeLast() }
        guard let whole = parts.string else { throw MoveInError("The old server's URL cannot be read.") }
        self.url = whole
        parts.user = nil
        parts.password = nil
        name = parts.string ?? "the old server"
        headers = [("X-Parse-Application-Id", applicationId), ("X-Parse-Master-Key", masterKey)]
        self.http = http
    }

    /// - Parameter bytesMax: limit of the answer.
    /// - Throws: `AnswerTooLarge`, also for JSON that is too large or too deep to parse; `RESTRefusal` when the server
    ///   refuses the request; `MoveInError`.
    func get(_ path: String, _ query: [String: JSON] = [:], bytesMax: Int) async throws -> JSON {
        let name = "\(self.name)\(path)"
        var request = OutboundRequest(.get, url + path + query.queryText, headers: headers, timeout: Self.timeout)
        request.answerBytesMax = bytesMax
        // A proxy would see the master key.
        request.isDirect = !url.lowercased().hasPrefix("https://")
        let response = try await http.send(request, name)
        guard response.status == 200 else {
            let answer = try? JSON(parsing: response.body)
            throw RESTRefusal(
                request: name, status: response.status, code: answer?["code"]?.intValue,
                error: answer?["error"]?.stringValue ?? "")
        }
        do throws(JSONError) {
            return try JSON(parsing: response.body)
        } catch {
            if case .malformed(let offset) = error {
                throw MoveInError(SourcePlace(file: name, offset: offset), "The answer is no JSON.")
            }
            throw AnswerTooLarge()
        }
    }
}

/// The old server refuses a request.
struct RESTRefusal: Error, Sendable {
    var request: String
    var status: Int
    /// Parse's code of the error; nil in the answer of another program, such as a proxy.
    var code: Int64?
    var error: String

    /// Whether the server lacks the class or route. A server that refuses the keys may have it.
    var isAbsence: Bool { status == 404 || status == 400 && code == Self.invalidClassName }
    private static let invalidClassName: Int64 = 103

    /// The refusal of a request without which the move cannot go on.
    var ending: MoveInError {
        let remedy =
            switch status {
            case 301, 302, 307, 308: " Give the URL to which the server redirects."
            case 401, 403: " Check the application id, the master key, and masterKeyIps on the old server."
            default: ""
            }
        return MoveInError("\(request): the answer is \(status) \(error.prefix(300)).\(remedy)")
    }
}
