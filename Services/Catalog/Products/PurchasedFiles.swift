import ObjectStore
import ParseProtocol
import Platform
import ServiceKit

/// The private files of in-app products. An operator's tool uploads a file like any other. When the file becomes a
/// product's `download`, the product gets a private copy under a new name and the uploaded file is removed, because its
/// URL would give away the paid content. The uploaded file stays when another field of the product shows it, and in an
/// import.
package struct PurchasedFiles: Sendable {
    let home: FileStorage

    package init(home: FileStorage) { self.home = home }

    private var store: ClassStore { home.store }

    private static let field = "download"
    private static let className = "_Product"

    /// Makes the copy, before the transaction. Its file is an orphan until `record`.
    /// - Throws: `.invalidFileName` (122) for a file that was never uploaded, `.fileSaveError` (130) when the disk or
    ///   the bucket cannot store it, `.serviceUnavailable` (2) when the bucket is unavailable, `.operationForbidden`
    ///   (119) for callers that may not change products.
    func prepare(_ change: inout ProposedChange) async throws {
        guard change.verb != .delete, let name = Self.publicName(change.object[Self.field]) else { return }
        let (verb, caller, share) = (change.verb, change.caller, change.request?.share)
        let entry = try await store.read(for: share) { reader in
            try reader.authorize(verb == .create ? .create : .update, Self.className, caller: caller)
            return try FileTable.find(name, in: reader)
        }
        guard let entry else {
            // An import of another shop's export names files that arrive later, or never.
            if change.isImported { return }
            throw ParseError(.invalidFileName, "download is not a file that was uploaded.")
        }
        let copy = try await copy(entry, share)
        change.object[Self.field] = Self.file(copy.name)
        change.notes[Self.field] = [
            "uploaded": .string(name),
            "name": .string(copy.name), "type": .string(copy.contentType), "size": .int(Int64(copy.size)),
            "metadata": .string(copy.metadata), "inBucket": .bool(copy.inBucket),
        ]
    }

    /// Adds the copy's row and removes the uploaded file, in the transaction of the product.
    func record(_ change: ProposedChange, of product: JSON, in transaction: StoreTransaction) throws {
        guard let note = change.notes[Self.field] else { return }
        guard let name = note["name"]?.stringValue, let type = note["type"]?.stringValue,
            let size = note["size"]?.intValue, let metadata = note["metadata"]?.stringValue
        else { throw ParseError.internalError }
        try FileTable.add(
            .init(
                name: name, contentType: type, size: Int(size), metadata: metadata,
                inBucket: note["inBucket"] == .bool(true)), in: transaction)
        if !change.isImported { try remove(note["uploaded"]?.stringValue ?? "", of: product, in: transaction) }
    }

    private func remove(_ uploaded: String, of product: JSON, in transaction: StoreTransaction) throws {
        let isShown = product.objectValue?.contains { field, value in
            field != Self.field && value.wireType == "File" && value["name"] == .string(uploaded)
        }
        if isShown != true { _ = try FileTable.remove(uploaded, in: transaction) }
    }

    /// Returns the stored file to the client that saved the product.
    func answer(_ change: ProposedChange, _ outcome: inout ChangeOutcome) {
        guard change.notes[Self.field] != nil else { return }
        outcome.answer[Self.field] = outcome.after?[Self.field]
    }

    // MARK: - Products of earlier releases

    private static let pageRows = 100

    /// Gives a private file to products whose file was public, so that any client with its name could fetch it. Returns
    /// when all are converted; a restart continues with the rest.
    /// - Throws: the errors of the store and the folder, `.fileSaveError` (130) after all other files for one that
    ///   could not be copied; `CancellationError`.
    package func convert() async throws {
        var last: String? = ""
        var failure: ParseError?
        while let done = last {
            try Task.checkCancellation()
            last = try await convertPage(after: done, &failure)
        }
        if let failure { throw failure }
    }

    /// - Parameter failure: set for a file that could not be copied.
    /// - Returns: the last inspected id; nil when there are no more.
    private func convertPage(after last: String, _ failure: inout ParseError?) async throws -> String? {
        let page = try await store.read(for: nil) { reader in
            try reader.documents(
                Query(
                    className: Self.className, where: ["objectId": ["$gt": .string(last)]], order: ["objectId"],
                    limit: Self.pageRows), caller: .master)
        }
        for product in page {
            guard let id = product["objectId"]?.stringValue, let name = Self.publicName(product[Self.field]),
                let entry = try await store.read(for: nil, { try FileTable.find(name, in: $0) })
            else { continue }
            let copy: FileTable.Entry
            do {
                copy = try await self.copy(entry, nil)
            } catch let error as ParseError where error.code == .fileSaveError {
                // Its content may be lost. The other products do not wait for it.
                failure = error
                continue
            }
            try await store.write(for: nil) { transaction in
                guard let present = try transaction.documentIfFound(Self.className, id, caller: .master),
                    present[Self.field]?["name"] == .string(name)
                else { return }
                try FileTable.add(copy, in: transaction)
                let changes: JSON = [
                    Self.field: Self.file(copy.name), "updatedAt": present["updatedAt"] ?? .null,
                ]
                _ = try transaction.update(Self.className, id, changes, keepsTimes: true, caller: .master)
                try remove(name, of: present, in: transaction)
            }
        }
        return page.last?["objectId"]?.stringValue
    }

    // MARK: -

    /// The name in a File value when it names a public file of Satchel.
    private static func publicName(_ value: JSON?) -> String? {
        guard let value, value.wireType == "File", let name = value["name"]?.stringValue, FileNames.isStoredName(name),
            !FileNames.isPrivate(name)
        else { return nil }
        return name
    }

    private static func file(_ name: String) -> JSON { ["__type": "File", "name": .string(name)] }

    /// Copied, not linked: the sweeper uses the file's time to recognise uploads in progress.
    private func copy(_ entry: FileTable.Entry, _ share: WorkShare?) async throws -> FileTable.Entry {
        let name = FileNames.storedName(FileNames.original(entry.name), isPrivate: true)
        let content: [UInt8]
        do {
            content = try await home.content(of: entry, for: share)
        } catch let error as ParseError where error.code == .serviceUnavailable {
            throw error
        } catch {
            throw ParseError(.fileSaveError, "The file could not be saved.")
        }
        return try await home.keep(
            content,
            for: FileTable.Entry(
                name: name, contentType: entry.contentType, size: entry.size, metadata: entry.metadata),
            share: share)
    }
}
