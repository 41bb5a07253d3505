import Foundation
import ParseProtocol

/// Reads one service's database for the checks: in the service, or from a file of a backup.
package struct ServiceBooks {
    /// Runs a SELECT. The columns are named, and the values are texts, integers and NULL.
    package typealias Reading = (
        _ sql: String, _ columns: [String], _ after: String?, _ limit: Int64
    ) throws -> [[String: BookValue]]

    /// More wrong rows of a check are not listed.
    package static let foundMax = 100
    package static let pageRows = 1000

    private let tables: BookTables
    /// The folder of catalog's files; nil in other services.
    private let files: String?
    private let countsRows: Bool
    private let read: Reading

    /// - Parameter countsRows: whether the report tells how many rows were checked.
    package init(
        isPostgreSQL: Bool, now: Int64, files: String?, countsRows: Bool = true, read: @escaping Reading
    ) throws {
        self.files = files
        self.countsRows = countsRows
        self.read = read
        let classes = try read("SELECT id, name FROM classes", ["id", "name"], nil, 0)
        let named = classes.compactMap { row -> (String, String)? in
            guard case .int(let id)? = row["id"], case .text(let name)? = row["name"] else { return nil }
            return (name, "o\(id)")
        }
        tables = BookTables(
            isPostgreSQL: isPostgreSQL, classes: Dictionary(named) { first, _ in first }, now: now)
    }

    /// Answers `{check}` with `{rows, found}`, and `{list, after}` with the next page of `{rows}`. `{provider}`: no
    /// database has an outside provider's list.
    /// - Throws: `.invalidJSON` (107) for anything else; errors of the database and of the folder of files.
    package func answer(_ question: JSON) throws -> JSON {
        if let name = question["check"]?.stringValue, let check = BookCheck.all.first(where: { $0.name == name }) {
            return try answer(check)
        }
        if let name = question["list"]?.stringValue, let list = BookList.all.first(where: { $0.name == name }) {
            let after = question["after"]?.stringValue ?? ""
            if list == .filesOnDisk {
                return ["rows": .array(try filesOnDisk(after: after).map { ["key": .string($0)] })]
            }
            if list == .objectsInBucket { return try objectsInBucket() }
            let rows = try read(list.sql, list.columns, after, Int64(Self.pageRows))
            return ["rows": .array(rows.map { .object($0.mapValues(\.json)) })]
        }
        if question["provider"] != nil { return [:] }
        throw ParseError(.invalidJSON, "A check or a list is needed.")
    }

    private func answer(_ check: BookCheck) throws -> JSON {
        do {
            let counted = try countsRows ? read(check.counts.sql(tables), ["rows"], nil, 0).first?["rows"] : nil
            let sql = """
                SELECT f.name AS name, f.found AS found FROM (\(try check.finds(tables))) AS f
                ORDER BY f.name LIMIT \(Self.foundMax)
                """
            let found = try read(sql, ["name", "found"], nil, 0)
            return ["rows": counted?.json ?? 0, "found": .array(found.map { .object($0.mapValues(\.json)) })]
        } catch is BookTables.MissingClass {
            return ["rows": 0, "found": []]
        }
    }

    /// Only the running catalog lists its bucket.
    private func objectsInBucket() throws -> JSON {
        let sql = "SELECT count(*) AS rows FROM files f WHERE f.inBucket = 1"
        guard case .int(let count)? = try read(sql, ["rows"], nil, 0).first?["rows"], count > 0 else {
            return ["rows": []]
        }
        throw ParseError(
            .validationError, "It should have \(count) files. scripts/verify without --backup lists it.")
    }

    /// The names of the next files, in order: `<first two characters>/<name>`. A missing folder has no files.
    /// - Throws: `CocoaError` for a folder that cannot be read: its files are not lost.
    private func filesOnDisk(after: String) throws -> [String] {
        guard let files else { return [] }
        func names(_ folder: String) throws -> [String] {
            do {
                return try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
            } catch let error as CocoaError where [.fileReadNoSuchFile, .fileNoSuchFile].contains(error.code) {
                return []
            }
        }
        var page: [String] = []
        for shard in try names(files) where shard.utf8.count == 2 && shard >= after.prefix(2) {
            page += try names("\(files)/\(shard)").filter { $0 > after }
            if page.count >= Self.pageRows { break }
        }
        return Array(page.prefix(Self.pageRows))
    }
}

extension BookValue {
    var json: JSON {
        switch self {
        case .text(let text): .string(text)
        case .int(let number): .int(number)
        }
    }

    init?(_ json: JSON) {
        if let text = json.stringValue {
            self = .text(text)
        } else if let number = json.intValue {
            self = .int(number)
        } else {
            return nil
        }
    }
}

extension BookRow {
    init?(_ json: JSON) {
        guard let members = json.objectValue, let key = members["key"]?.stringValue else { return nil }
        self.init(key, members.compactMapValues(BookValue.init))
    }
}
