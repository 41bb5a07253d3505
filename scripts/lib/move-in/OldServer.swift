import ParseProtocol

/// A server, or its dump, that a shop moves in from.
///
/// Implementations convert their storage form (MongoDB's, PostgreSQL's, an export's) to `MovedRow`. They hold a bounded
/// number of rows in memory.
protocol OldServer: Sendable {
    /// The source's name for people, without passwords.
    var name: String { get }

    /// All classes with their schemas, in no particular order. Includes Parse's own classes (`_User`, `_Role`,
    /// `_Session`, `_Installation`, …) and one entry for each relation (`_Join:<field>:<Class>`), but no class of which
    /// the source has neither a schema nor rows.
    func classes() async throws -> [MovedClass]

    /// Reads the rows of a class in the source's order.
    /// - Parameters:
    ///   - since: only rows with this `updatedAt` (milliseconds since 1970) or a later one, where the source can find
    ///     them without reading all rows; others give all rows.
    ///   - sink: receives the rows and what could not be read.
    /// - Throws: `MoveInError` when the source cannot be read any further; errors of the sink.
    func read(_ className: String, since: Int64?, into sink: any RowSink) async throws
}

/// A class of the old server.
struct MovedClass: Sendable, Equatable {
    /// Classes of Parse Server that have no schema and that its schema route does not list.
    static let unlisted: Set<String> = ["_Audience", "_JobSchedule", "_JobStatus", "_PushStatus"]

    var name: String
    /// Fields by name, each as Parse's schema route has it: `{"type": "Pointer", "targetClass": "Brand"}`.
    var fields: [String: JSON] = [:]
    /// As Parse's schema route has them; nil for open ones.
    var classLevelPermissions: JSON?
    /// Indexes by name, as Parse's schema route has them: `{"price_1": {"price": 1}}`.
    var indexes: [String: JSON] = [:]
    /// The number of rows and their bytes in the source; nil where only reading everything would tell.
    var rows: Int?
    var bytes: Int?
}

/// An object of the old server in Parse's REST form.
///
/// It has `objectId`, `createdAt`, `updatedAt` (ISO 8601 texts) and, if the old server stored permissions, `ACL`.
/// Values are in the REST form (`{"__type": "Date", …}`); a File is `{"__type": "File", "name": …}` with the old
/// server's name, and `url` where the source has one. Relations are not part of it: they are rows of
/// `_Join:<field>:<Class>` with `owningId` and `relatedId`.
///
/// Rows of `_User` and `_Session` keep what REST never shows, under the names of Parse Server's storage:
/// `_hashed_password`, `_perishable_token`, `_email_verify_token`, `_failed_login_count`, `_password_history` and so on
/// (Services/Users/Moving reads them), and `authData`.
struct MovedRow: Sendable, Equatable {
    var className: String
    /// The object's id; `<owningId>:<relatedId>` for a row of a relation.
    var objectId: String
    /// Milliseconds since 1970; nil where the source has none.
    var updatedAt: Int64?
    var fields: [String: JSON]
    /// Where the row is in the source.
    var place: SourcePlace
}

/// A place in a source, for messages: a file and a byte offset, or a table or URL.
struct SourcePlace: Sendable, Equatable, CustomStringConvertible {
    var file: String
    var offset: Int?

    var description: String { offset.map { "\(file), byte \($0)" } ?? file }
}

/// Receives what a source reads.
protocol RowSink: Sendable {
    /// Takes rows of one class, at most some hundred at a time. Suspends while earlier rows are being sent.
    func take(_ rows: [MovedRow]) async throws
    /// Takes a row that cannot be moved. Reading goes on.
    func refuse(_ refusal: RefusedRow) async throws
    /// Takes a sentence on a class whose rows move with a change, such as a number that loses digits: each once.
    func note(_ sentence: String, on className: String) async throws
}

extension RowSink {
    func note(_ sentence: String, on className: String) async throws {}
}

/// A row of the source that cannot be moved.
struct RefusedRow: Sendable, Equatable {
    var className: String
    /// The id, when it could be read.
    var objectId: String?
    var place: SourcePlace
    /// A sentence that names the fault.
    var reason: String
}

/// The end of a move, in a sentence for the operator: the fault, its place, and the remedy.
struct MoveInError: Error, Sendable, CustomStringConvertible {
    var description: String

    init(_ description: String) { self.description = description }

    init(_ place: SourcePlace, _ reason: String) { description = "\(place): \(reason)" }
}
