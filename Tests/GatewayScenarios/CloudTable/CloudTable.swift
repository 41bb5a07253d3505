import Foundation
import ParseProtocol
import TestSupport
import Testing

/// The table of cloud code in Tests/CloudTable: snippets of main.js, requests, and the answers that the protocol and
/// public documents promise.
struct CloudTable: Sendable {
    /// A snippet with its requests and answers. Tests/CloudTable/rows.mjs says which members it has.
    struct Row: Sendable, CustomTestStringConvertible {
        let json: JSON

        var name: String { json.text("name") }
        var subject: String { json.text("subject") }
        /// How the service differs from what was promised; nil where it does not.
        var differs: String? { json["differs"]?.stringValue }
        var testDescription: String { name }

        /// The texts of files by their paths, of a row that is deployed by itself.
        var files: [String: String] { CloudTable.texts(json["files"]) }
        /// Requests that only have to succeed.
        var before: [JSON] { json["before"]?.arrayValue ?? [] }
        /// The request that the row is about, with its status and answer.
        var ask: JSON {
            var ask = json["ask"] ?? .null
            for member in ["status", "answer"] { ask[member] = json[member] }
            return ask
        }
        /// Requests that are repeated until their answers are right.
        var after: [JSON] { json["after"]?.arrayValue ?? [] }
        var logs: [String] { json["logs"]?.arrayValue?.compactMap(\.stringValue) ?? [] }
    }

    /// A suite, and the rows whose code it runs in one main.js.
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

    /// The rows of a file of the table; none when it cannot be read, which a test of its own says.
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
