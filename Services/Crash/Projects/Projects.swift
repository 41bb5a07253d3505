import Foundation
import ObjectStore
import ParseProtocol
import ProcessKit

/// The reporting apps and their public keys. Every copy of an app contains its key, which identifies it but is no
/// secret.
package enum Projects {
    /// The id of the project with which a suite starts.
    static let defaultId: Int64 = 1

    /// An operator has a few.
    private static let projectsMax = 200
    private static let nameBytesMax = 100

    /// - Throws: `ReportRefusal` unless the key belongs to the project and is not disabled.
    static func admit(_ publicKey: String, to projectId: String, _ reader: StoreReader) throws {
        let row = try reader.rows(
            "SELECT projectId, disabledAt FROM crashKeys WHERE publicKey = ?", [.text(publicKey)]
        ).first
        guard let row, try row["disabledAt"].isNull, try String(row.int("projectId")) == projectId else {
            throw ReportRefusal.keyUnknown
        }
    }

    /// - Returns: the new project's id and key.
    /// - Throws: `.validationError` (142).
    static func create(_ name: JSON?, in transaction: StoreTransaction) throws -> (id: String, key: String) {
        guard let name = name?.stringValue, (1...nameBytesMax).contains(name.utf8.count) else {
            throw ParseError(.validationError, "name must be a text of 1 to \(nameBytesMax) bytes.")
        }
        let count = try transaction.rows("SELECT count(*) FROM crashProjects", []).first?.int(0) ?? 0
        guard count < projectsMax else {
            throw ParseError(.validationError, "There are at most \(projectsMax) projects.")
        }
        let now = SQLValue.int(transaction.now.milliseconds)
        let id = try transaction.rows(
            "INSERT INTO crashProjects(name, createdAt) VALUES (?, ?) RETURNING id", [.text(name), now]
        ).first?.int("id")
        guard let id else { throw ParseError.internalError }
        let key = Hex.random(bytes: 16)
        try add(key, to: id, in: transaction)
        return (String(id), key)
    }

    static func add(_ key: String, to projectId: Int64, in transaction: StoreTransaction) throws {
        _ = try transaction.execute(
            "INSERT INTO crashKeys(publicKey, projectId, createdAt) VALUES (?, ?, ?) ON CONFLICT(publicKey) DO NOTHING",
            [.text(key), .int(projectId), .int(transaction.now.milliseconds)])
    }

    /// - Throws: `.objectNotFound` (101) when there is no such key.
    static func disable(_ key: JSON?, in transaction: StoreTransaction) throws {
        guard let key = key?.stringValue else { throw ParseError(.validationError, "key must be a text.") }
        let changed = try transaction.execute(
            "UPDATE crashKeys SET disabledAt = coalesce(disabledAt, ?) WHERE publicKey = ?",
            [.int(transaction.now.milliseconds), .text(key)])
        guard changed > 0 else { throw ParseError.objectNotFound }
    }

    /// Every project with its keys, oldest first.
    static func list(_ reader: StoreReader, dsn: (_ key: String, _ projectId: String) -> String) throws -> JSON {
        let keys = try reader.rows(
            """
            SELECT publicKey, projectId, disabledAt FROM crashKeys
            ORDER BY createdAt, \(reader.dialect.row(key: "publicKey"))
            """, [])
        return .array(
            try reader.rows("SELECT id, name, createdAt FROM crashProjects ORDER BY id", []).map { project in
                let id = try String(project.int("id"))
                return try [
                    "projectId": .string(id), "name": .string(project.text("name")),
                    "createdAt": Timestamp(milliseconds: project.int("createdAt")).wire,
                    "keys": .array(
                        keys.filter { try $0.int("projectId") == project.int("id") }.map { key in
                            try [
                                "key": .string(key.text("publicKey")), "dsn": .string(dsn(key.text("publicKey"), id)),
                                "disabled": .bool(!key["disabledAt"].isNull),
                            ]
                        }),
                ]
            })
    }
}

/// `data/crash.key`: the default project's key, so that released copies of an app can still report after the database
/// was recreated.
package struct DefaultKeyFile: Sendable {
    private let path: String
    private let disk = BlockingQueue("crash-key")

    package init(path: String) { self.path = path }

    /// Writes the file if it is missing; otherwise adds its key to the default project.
    /// - Throws: `StartupProblem` when the file cannot be used.
    package func match(_ store: ClassStore) async throws {
        let text = try await disk.run { [path] in try Self.read(path) }
        if let text {
            let key = text.trimmingCharacters(in: .whitespacesAndNewlines)
            guard key.utf8.count == 32, key.allSatisfy(\.isHexDigit) else {
                throw StartupProblem("\(path) does not contain a key of 32 hex digits.")
            }
            return try await store.write(for: nil) { try Projects.add(key, to: Projects.defaultId, in: $0) }
        }
        let key = try await store.write(for: nil) {
            try $0.rows(
                """
                SELECT publicKey FROM crashKeys WHERE projectId = 1 AND disabledAt IS NULL
                ORDER BY createdAt, \($0.dialect.row(key: "publicKey")) LIMIT 1
                """, []
            ).first?.text("publicKey")
        }
        guard let key else { return }
        try await disk.run { [path] () throws(StartupProblem) -> Void in
            do throws(DurableFile.Failure) {
                try DurableFile.write(Array(key.utf8), to: path)
            } catch {
                throw StartupProblem("\(path) cannot be written: \(error).")
            }
        }
    }

    /// Nil when the file is missing.
    private static func read(_ path: String) throws -> String? {
        do {
            return String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
        } catch let error as CocoaError where error.code == .fileReadNoSuchFile {
            return nil
        } catch {
            throw StartupProblem("\(path) cannot be read.")
        }
    }
}
