import ObjectStore
import ParseProtocol
import ServiceKit

/// The pictures of products. When a product gets a photo without a thumbnail, the catalog makes both of its pictures;
/// `fullsizeImage` is then no longer the file that was uploaded. The uploaded file stays, for whoever knows its name:
/// other objects may refer to it.
struct ProductPhotos: Sendable {
    private let store: ClassStore
    private let studio: PhotoStudio

    init(store: ClassStore, folder: FileFolder) {
        self.store = store
        studio = PhotoStudio(folder: folder)
    }

    private static let noteName = "pictures"

    /// Makes the pictures, before the transaction. Their files are orphans until `record`.
    /// - Throws: `.invalidImageData` (150) for what is no image or was never uploaded, `.operationForbidden` (119) and
    ///   `.objectNotFound` (101) for those who may not change products.
    func prepare(_ change: inout ProposedChange) async throws {
        guard change.verb != .delete, let photo = change.object["fullsizeImage"], photo.wireType == "File",
            change.object["thumbnail"] == nil || change.object["thumbnail"] == .null
        else { return }
        guard let name = photo["name"]?.stringValue, FileNames.isKept(name) else { throw Self.unknown }
        let (verb, className, objectId, caller) = (change.verb, change.className, change.objectId, change.caller)
        let isNew = try await store.read { reader in
            try reader.authorize(verb == .create ? .create : .update, className, caller: caller)
            if verb == .update, let objectId {
                let stored = try JSON(parsing: reader.get(className, objectId, caller: .master))
                // Clients that send whole objects send the photo that is there already.
                if stored["fullsizeImage"]?["name"] == .string(name) { return false }
            }
            guard try FileTable.find(name, in: reader) != nil else { throw Self.unknown }
            return true
        }
        guard isNew else { return }
        let (full, thumbnail) = try await studio.pictures(of: name)
        change.object["fullsizeImage"] = full.file
        change.object["thumbnail"] = thumbnail.file
        change.notes[Self.noteName] = .array(
            [full, thumbnail].map { picture in
                [
                    "name": .string(picture.entry.name), "type": .string(picture.entry.contentType),
                    "size": .int(Int64(picture.entry.size)),
                ]
            })
    }

    private static let unknown = ParseError(.invalidImageData, "fullsizeImage is not a file that was uploaded.")

    /// Makes the pictures exist, in the transaction of the product.
    func record(_ change: ProposedChange, in transaction: StoreTransaction) throws {
        for picture in change.notes[Self.noteName]?.arrayValue ?? [] {
            guard let name = picture["name"]?.stringValue, let type = picture["type"]?.stringValue,
                let size = picture["size"]?.intValue
            else { throw ParseError.internalError }
            try FileTable.add(.init(name: name, contentType: type, size: Int(size)), in: transaction)
        }
    }

    /// Tells the client what became of its photo.
    func answer(_ change: ProposedChange, _ outcome: inout ChangeOutcome) {
        guard change.notes[Self.noteName] != nil else { return }
        for field in ["fullsizeImage", "thumbnail"] { outcome.answer[field] = outcome.after?[field] }
    }
}
