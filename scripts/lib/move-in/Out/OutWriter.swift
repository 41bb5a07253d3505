import Foundation
import ParseProtocol

/// Writes the classes of a suite in the form of another database, one after the other.
protocol OutWriter: AnyObject {
    /// Begins with the schemas of all classes that Parse Server lists.
    func begin(_ schemas: [MovedClass]) throws
    func open(_ schema: MovedClass) throws
    /// Writes a row of the open class.
    /// - Throws: `UnstorableValue` when the database could not take the row; errors of the disk.
    func add(_ row: MovedRow) throws
    func close() throws
    func finish() throws
}

/// A folder in the form of mongodump: `<folder>/parse/<collection>.bson` and `.metadata.json`.
final class MongoDumpWriter: OutWriter {
    private let folder: String
    private var file: OutFile?
    private var schema = MovedClass(name: "")

    /// - Throws: `MoveInError` when the folder has files, or cannot be made.
    init(_ path: String) throws {
        guard FolderListing.names(path).isEmpty else { throw MoveInError("\(path) is not empty.") }
        folder = "\(path)/parse"
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try DurableFile.synchronize(folder: path)
        } catch { throw MoveInError("Cannot make the folder \(folder): \(error)") }
    }

    func begin(_ schemas: [MovedClass]) throws {
        let table = MovedClass(name: "_SCHEMA")
        try open(table)
        for schema in schemas { try file?.write(try MongoForm.schema(schema).serialized()) }
        try close()
    }

    func open(_ schema: MovedClass) throws {
        self.schema = schema
        let path = "\(folder)/\(Self.fileName(schema.name))"
        let metadata = try OutFile(path + ".metadata.json")
        try metadata.write(MongoForm.metadata(schema))
        try metadata.close()
        file = try OutFile(path + ".bson")
    }

    func add(_ row: MovedRow) throws {
        try file?.write(try MongoForm.document(row, schema.fields).serialized())
    }

    func close() throws {
        try file?.close()
        file = nil
    }

    func finish() throws {}

    /// mongodump encodes signs in names as in a URL's query.
    static func fileName(_ collection: String) -> String {
        collection.utf8.map { byte in
            let character = Character(Unicode.Scalar(byte))
            let isPlain = character.isASCII && (character.isLetter || character.isNumber || "_-.~".contains(character))
            return isPlain ? String(character) : "%" + [byte].hex.uppercased()
        }.joined()
    }
}

/// A file of SQL with Parse Server's tables, as one transaction: a part of the file loads nothing.
final class SQLWriter: OutWriter {
    private let file: OutFile
    private var columns: [PostgreSQLForm.Column] = []
    private var schema = MovedClass(name: "")

    /// - Throws: `MoveInError` when the file exists, or cannot be made.
    init(_ path: String) throws { file = try OutFile(path) }

    func begin(_ schemas: [MovedClass]) throws {
        try PostgreSQLForm.check(schemas)
        try file.write(
            """
            -- The tables of Parse Server, by scripts/move-out. For an empty database: psql -v ON_ERROR_STOP=1 -f …
            SET client_encoding = 'UTF8';
            SET standard_conforming_strings = on;
            BEGIN;
            CREATE TABLE "_SCHEMA" (
                "className" character varying(128) NOT NULL, schema jsonb, "isParseClass" boolean,
                PRIMARY KEY ("className")
            );

            """)
        try file.write(PostgreSQLForm.copy("_SCHEMA", ["className", "schema", "isParseClass"]))
        for schema in schemas {
            let values = [schema.name, PostgreSQLForm.stored(schema).serializedText, "t"]
            try file.write(values.map { PostgreSQLForm.escaped($0) }.joined(separator: "\t") + "\n")
        }
        try file.write("\\.\n")
    }

    func open(_ schema: MovedClass) throws {
        self.schema = schema
        columns = PostgreSQLForm.columns(of: schema)
        try file.write(PostgreSQLForm.table(schema))
        try file.write(PostgreSQLForm.copy(schema.name, columns.map(\.name)))
    }

    func add(_ row: MovedRow) throws { try file.write(try PostgreSQLForm.line(row, columns)) }

    func close() throws { try file.write("\\.\n" + PostgreSQLForm.indexes(schema)) }

    func finish() throws {
        // pg_dump's last line, by which a reader knows a whole file.
        try file.write("COMMIT;\n\n-- PostgreSQL database dump complete\n")
        try file.close()
    }
}
