import ObjectStore
import ParseProtocol
import ServiceKit

/// The private files that are sold within an app. An operator's tool uploads a file like any other; when it becomes a
/// product's `download`, the product gets a private copy under a name of its own. The uploaded file stays, for whoever
/// knows its name: other objects may refer to it.
struct PurchasedFiles: Sendable {
    let home: FileHome

    private var store: ClassStore { home.store }

    private static let field = "download"
    private static let className = "_Product"

    /// Makes the copy, before the transaction. Its file is an orphan until `record`.
    /// - Throws: `.invalidFileName` (122) for a file that was never uploaded, `.fileSaveError` (130) when the disk or
    ///   the bucket does not take it, `.serviceUnavailable` (2) when the bucket is away, `.operationForbidden` (119)
    ///   for those who may not change products.
    func prepare(_ change: inout ProposedChange) async throws {
        guard change.verb != .delete, let name = Self.publicName(change.object[Self.field]) else { return }
        let (verb, caller) = (change.verb, change.caller)
        let entry = try await store.read { reader in
            try reader.authorize(verb == .create ? .create : .update, Self.className, caller: caller)
            return try FileTable.find(name, in: reader)
        }
        guard let entry else {
            // An export of another shop names files that come later, or never.
            if change.isImported { return }
            throw ParseError(.invalidFileName, "download is not a file that was uploaded.")
        }
        let copy = try await copy(entry)
        change.object[Self.field] = Self.file(copy.name)
        change.notes[Self.field] = [
            "name": .string(copy.name), "type": .string(copy.contentType), "size": .int(Int64(copy.size)),
            "metadata": .string(copy.metadata), "inBucket": .bool(copy.inBucket),
        ]
    }

    /// Makes the copy exist, in the transaction of the product.
    func record(_ change: ProposedChange, in transaction: StoreTransaction) throws {
        guard let note = change.notes[Self.field] else { return }
        guard let name = note["name"]?.stringValue, let type = note["type"]?.stringValue,
            let size = note["size"]?.intValue, let metadata = note["metadata"]?.stringValue
        else { throw ParseError.internalError }
        try FileTable.add(
            .init(
                name: name, contentType: type, size: Int(size), metadata: metadata,
                inBucket: note["inBucket"] == .bool(true)), in: transaction)
    }

    /// Tells who saved the product which file it has.
    func answer(_ change: ProposedChange, _ outcome: inout ChangeOutcome) {
        guard change.notes[Self.field] != nil else { return }
        outcome.answer[Self.field] = outcome.after?[Self.field]
    }

    // MARK: - Products of earlier releases

    private static let pageRows = 100

    /// Gives products whose file everybody who knows its name could fetch a private one. Returns when it is done; what
    /// was done stays done when it is begun anew.
    /// - Throws: what the store and the folder throw; `CancellationError`.
    func convert() async throws {
        var last: String? = ""
        while let done = last {
            try Task.checkCancellation()
            last = try await convertPage(after: done)
        }
    }

    /// - Returns: the last id looked at, nil when there are no more.
    private func convertPage(after last: String) async throws -> String? {
        let page = try await store.read { reader in
            try reader.documents(
                Query(
                    className: Self.className, where: ["objectId": ["$gt": .string(last)]], order: ["objectId"],
                    limit: Self.pageRows), caller: .master)
        }
        for product in page {
            guard let id = product["objectId"]?.stringValue, let name = Self.publicName(product[Self.field]),
                let entry = try await store.read({ try FileTable.find(name, in: $0) })
            else { continue }
            let copy = try await copy(entry)
            try await store.write { transaction in
                guard let present = try transaction.documentIfFound(Self.className, id, caller: .master),
                    present[Self.field]?["name"] == .string(name)
                else { return }
                try FileTable.add(copy, in: transaction)
                let changes: JSON = [
                    Self.field: Self.file(copy.name), "updatedAt": present["updatedAt"] ?? .null,
                ]
                _ = try transaction.update(Self.className, id, changes, keepsTimes: true, caller: .master)
            }
        }
        return page.last?["objectId"]?.stringValue
    }

    // MARK: -

    /// The name in a File value that is a file of ours and not private.
    private static func publicName(_ value: JSON?) -> String? {
        guard let value, value.wireType == "File", let name = value["name"]?.stringValue, FileNames.isKept(name),
            !FileNames.isPrivate(name)
        else { return nil }
        return name
    }

    private static func file(_ name: String) -> JSON { ["__type": "File", "name": .string(name)] }

    /// Written anew and not linked: the sweeper knows by the time of a file that it is under way.
    private func copy(_ entry: FileTable.Entry) async throws -> FileTable.Entry {
        let name = FileNames.kept(FileNames.original(entry.name), isPrivate: true)
        let content: [UInt8]
        do {
            content = try await home.content(of: entry)
        } catch let error as ParseError where error.code == .serviceUnavailable {
            throw error
        } catch {
            throw ParseError(.fileSaveError, "The file could not be saved.")
        }
        return try await home.keep(
            content,
            for: FileTable.Entry(
                name: name, contentType: entry.contentType, size: entry.size, metadata: entry.metadata))
    }
}
