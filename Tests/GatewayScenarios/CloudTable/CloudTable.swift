import Foundation
import ParseProtocol
import TestSupport
import Testing

/// The cloud code table in Tests/CloudTable: snippets of main.js, requests, and the answers that the protocol and
/// public documents specify.
struct CloudTable: Sendable {
    /// A snippet with its requests and answers. Tests/CloudTable/rows.mjs lists its members.
    struct Row: Sendable, CustomTestStringConvertible {
        let json: JSON

        var name: String { json.text("name") }
        var subject: String { json.text("subject") }
        /// How the service deviates from the specified answer; nil if it does not.
        var differs: String? { json["differs"]?.stringValue }
        var testDescription: String { name }

        /// The file texts by path, of a row that is deployed on its own.
        var files: [String: String] { CloudTable.texts(json["files"]) }
        /// Requests that must only succeed.
        var before: [JSON] { json["before"]?.arrayValue ?? [] }
        /// The request that the row tests, with its status and answer.
        var ask: JSON {
            var ask = json["ask"] ?? .null
            for member in ["status", "answer"] { ask[member] = json[member] }
            return ask
        }
        /// Requests that are repeated until their answers match.
        var after: [JSON] { json["after"]?.arrayValue ?? [] }
        var logs: [String] { json["logs"]?.arrayValue?.compactMap(\.stringValue) ?? [] }
    }

    /// The rows whose code one suite runs in one main.js.
    struct Part: Sendable {
        let name: String
        let settings: [String: String]
        let files: [String: String]
        let rows: [Row]
    }

    let parts: [Part]
    /// Folders that a deployment refuses.
    let refused: [Row]

    /// The table, read once by Node.
    static let read = Result { try CloudTable() }

    /// The rows of one file of the table. Empty if the table cannot be read, which a separate test reports.
    static func rows(_ subject: String) -> [Row] {
        let parts = (try? read.get())?.parts ?? []
        return parts.flatMap(\.rows).filter { $0.subject == subject }
    }

    /// The rows of `loading.mjs`.
    static var refused: [Row] { (try? read.get())?.refused ?? [] }

    private init() throws {
        let program = "\(checkoutDirectory)/Tests/CloudTable/table.mjs"
        let table = try JSON(parsing: try Command.runBlocking(["node", program]))
        parts = (table["suites"]?.arrayValue ?? []).map { part in
            Part(
                name: part.text("name"), settings: Self.texts(part["settings"]), files: Self.texts(part["files"]),
                rows: (part["rows"]?.arrayValue ?? []).map(Row.init))
        }
        refused = (table["loading"]?.arrayValue ?? []).map(Row.init)
    }

    private static func texts(_ object: JSON?) -> [String: String] {
        (object?.objectValue ?? [:]).compactMapValues(\.stringValue)
    }
}
