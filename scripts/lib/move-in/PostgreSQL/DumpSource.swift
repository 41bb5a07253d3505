import Foundation

/// A dump, which can be read from any place of its text.
struct DumpSource: Sendable {
    enum Form: Sendable {
        case plain
        case gzip(GzipMarks)
        /// Custom, tar or directory format, which only pg_restore reads.
        case archive
        case memory([UInt8])
    }

    let path: String
    var form: Form

    private static let headBytes = 16 << 10

    init(path: String, form: Form) {
        self.path = path
        self.form = form
    }

    /// Nil for a file or folder of another kind.
    init?(at path: String) throws {
        self.path = path
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else { return nil }
        if isFolder.boolValue {
            guard FileManager.default.fileExists(atPath: path + "/toc.dat") else { return nil }
            form = .archive
            return
        }
        var head = try FileBytes(path).next()
        if head.starts(with: "PGDMP".utf8) || head.starts(with: "toc.dat\0".utf8) {
            form = .archive
            return
        }
        form = .plain
        if head.starts(with: [0x1F, 0x8B]) {
            form = .gzip(GzipMarks())
            // Any program may have written damaged data.
            head = (try? GzipBytes(path).next()) ?? []
        }
        let text = String(decoding: head.prefix(Self.headBytes), as: UTF8.self)
        let isNamedSo = path.hasSuffix(".sql") || path.hasSuffix(".sql.gz")
        guard isNamedSo || text.contains("-- PostgreSQL database ") else { return nil }
    }

    /// - Parameter table: with an archive, only this table's rows.
    func bytes(from offset: Int, table: TableName?) throws -> any DumpBytes {
        switch form {
        case .plain: try FileBytes(path, from: offset)
        case .gzip(let marks): try GzipBytes(path, from: offset, marks: marks)
        case .archive: try RestoredBytes(path, table: table)
        case .memory(let bytes): MemoryBytes(bytes.dropFirst(offset))
        }
    }

    /// For messages. Offsets in gzip data count unpacked bytes; an archive has none.
    func place(_ offset: Int) -> SourcePlace {
        switch form {
        case .plain, .memory: SourcePlace(file: path, offset: offset)
        case .gzip: SourcePlace(file: "\(path) (unpacked)", offset: offset)
        case .archive: SourcePlace(file: path, offset: nil)
        }
    }
}
