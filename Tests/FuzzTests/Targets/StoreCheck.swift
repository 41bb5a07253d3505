import Foundation
import Logging
import ObjectStore
import ParseProtocol
import ServiceSupport

/// A store in a temporary folder that is removed with it, or in a temporary schema (`testDatabase`).
final class FuzzStore: Sendable {
    let store: ClassStore
    private let folder: String
    private let database: StoreDatabase

    init() async throws {
        folder = NSTemporaryDirectory() + "fuzz-\(UUID().uuidString)"
        database = testDatabase("fuzz", in: URL(filePath: folder))
        store = try ClassStore(
            database, classes: [], synchronous: .normal, allowClassCreation: true,
            allowCustomObjectId: true, logger: Logger(label: "fuzz") { _ in SwiftLogNoOpLogHandler() })
        let store = store
        await withCheckedContinuation { continuation in store.startWriting { continuation.resume() } }
    }

    deinit {
        store.stop()
        if case .postgresql(let schema) = database { try? schema.drop() }
        try? FileManager.default.removeItem(atPath: folder)
    }
}

/// The requirements for every error that a client may see.
enum PublicError {
    /// The codes of PARSE_PROTOCOL section 14 that a server sends.
    static let codes: Set<Int> = Set([-1, 2, 4] + Array(100...162) + Array(200...211) + Array(250...255))

    /// Words that only Satchel's code, the database or the machine can have written.
    private static let internalWords = [
        "sqlite", "grdb", "postgresql", "libpq", "pg_", "jsonb", "relation \"", "column \"", "operator does not exist",
        "json_extract", "json_each", "json_type", "syntax error", "no such table", "no such column",
        "near \"",
        "constraint failed", "storeerror", "/home/", "/tmp/", "/root", ".swift", "optional(", "swift.", "fatal error",
        "datatype mismatch",
        "unrecognized token", "parser stack", "bind parameter", "zeromq", "protobuf", "errno",
    ]

    /// - Parameter input: the client's input, which the error may repeat.
    /// - Throws: `Violation` unless the error is a Parse error with a known code and a text that reveals no internals.
    static func check(_ error: any Error, input: [UInt8]) throws -> String {
        guard let error = error as? ParseError else { throw Violation("\(type(of: error)): \(error)") }
        try require(codes.contains(error.code.rawValue), "The code \(error.code.rawValue): \(error.message)")
        try check(text: error.message, input: input)
        return "\(error.code.rawValue) \(error.message.prefix(24))"
    }

    static func check(text: String, input: [UInt8]) throws {
        let text = text.lowercased()
        guard let word = internalWords.first(where: text.contains) else { return }
        let sent = String(decoding: input, as: UTF8.self).lowercased()
        // An answer may repeat the client's text without its blanks and control characters, which then forms a word.
        let joined = String(
            String.UnicodeScalarView(sent.unicodeScalars.filter { $0.value > 0x20 && $0.value != 0x7F }))
        try require(
            sent.contains(word) || joined.contains(word), "An answer has internal text (\(word)): \(text.prefix(300))")
    }
}
