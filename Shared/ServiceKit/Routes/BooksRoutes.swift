import Books
import MessageBus
import Messages
import ObjectStore
import ParseProtocol

extension ServiceRoutes {
    /// A check of a large database reads all of it. The gateway waits a little longer.
    private static let booksTimeMax = Duration.seconds(290)

    /// Answers the questions of the checks of the books (`ServiceBooks`), each from one snapshot.
    /// - Parameters:
    ///   - provider: compares the service with an outside provider, which `{provider}` asks for.
    ///   - objects: the next names of catalog's files in a bucket, in the order of their bytes.
    package mutating func installBooks(
        provider: (@Sendable (_ question: JSON) async throws -> JSON)? = nil,
        objects: (@Sendable (_ after: String) async throws -> [String])? = nil
    ) {
        let store = host.store
        let files = host.plan.name == "catalog" ? host.configuration.dataDirectory + "/files" : nil
        task(framed: ObjectCalls(of: host.plan.name).books) { _, request in
            try request.requireMaster()
            let question = try request.document()
            if question["provider"] != nil, let provider { return try .result(await provider(question)) }
            if let objects, question["list"]?.stringValue == BookList.objectsInBucket.name {
                let names = try await objects(question["after"]?.stringValue ?? "")
                return try .result(["rows": .array(names.map { ["key": .string($0)] })])
            }
            let answer = try await store.readApart(within: Self.booksTimeMax) { reader in
                try ServiceBooks(reader, files: files).answer(question)
            }
            return try .result(answer)
        }
    }
}

extension ServiceBooks {
    /// - Parameter files: the folder of catalog's files.
    package init(_ reader: StoreReader, files: String?) throws {
        try self.init(
            isPostgreSQL: reader.dialect == .postgresql, now: Timestamp.now.milliseconds, files: files
        ) { sql, columns, after, limit in
            let arguments: [SQLValue] = after.map { [.text($0), .int(limit)] } ?? []
            return try reader.rows(sql, arguments).map { row in
                var values: [String: BookValue] = [:]
                for column in columns { values[column] = BookValue(try row[column]) }
                return values
            }
        }
    }
}

extension BookValue {
    fileprivate init?(_ value: SQLValue) {
        switch value {
        case .text(let text): self = .text(text)
        case .int(let number): self = .int(number)
        case .real(let number):
            guard let whole = Int64(exactly: number.rounded()) else { return nil }
            self = .int(whole)
        case .null, .blob: return nil
        }
    }
}
