import Foundation
import ObjectStore
import ParseProtocol
import Platform
import ServiceKit

/// The pictures of products. When a product gets a photo without a thumbnail, the catalog makes both pictures;
/// `fullsizeImage` is then no longer the uploaded file. The uploaded file is kept under its name, because other objects
/// may refer to it.
struct ProductPhotos: Sendable {
    private let home: FileStorage
    let studio: PhotoStudio

    private var store: ClassStore { home.store }

    init(home: FileStorage) {
        self.home = home
        studio = PhotoStudio(folder: home.folder)
    }

    private static let noteName = "pictures"

    /// Makes the pictures, before the transaction. Their files are orphans until `record`. A move (`MoveSwitch`) leaves
    /// photos as they are: they have the sizes of the old shop, and their files may come later or never.
    /// - Throws: `.invalidImageData` (150) for a file that is not an image or was never uploaded, `.operationForbidden`
    ///   (119) and `.objectNotFound` (101) for callers that may not change products, `.serviceUnavailable` (2) when the
    ///   bucket of files is unavailable.
    func prepare(_ change: inout ProposedChange) async throws {
        guard !(change.isImported && change.principal.maintenance) else { return }
        guard change.verb != .delete, let file = change.object["fullsizeImage"], file.wireType == "File",
            change.object["thumbnail"] == nil || change.object["thumbnail"] == .null
        else { return }
        guard let name = file["name"]?.stringValue, FileNames.isStoredName(name) else { throw Self.unknown }
        let (verb, className, objectId, caller) = (change.verb, change.className, change.objectId, change.caller)
        let share = change.request?.share
        let photo = try await store.read(for: share) { reader -> FileTable.Entry? in
            try reader.authorize(verb == .create ? .create : .update, className, caller: caller)
            if verb == .update, let objectId {
                let stored = try JSON(parsing: reader.get(className, objectId, caller: .master))
                // Clients that send whole objects send the existing photo again.
                if stored["fullsizeImage"]?["name"] == .string(name) { return nil }
            }
            guard let entry = try FileTable.find(name, in: reader) else { throw Self.unknown }
            return entry
        }
        guard let photo else { return }
        let (full, thumbnail) = try await pictures(of: photo, share)
        change.object["fullsizeImage"] = full.file
        change.object["thumbnail"] = thumbnail.file
        change.notes[Self.noteName] = .array(
            [full, thumbnail].map { picture in
                [
                    "name": .string(picture.entry.name), "type": .string(picture.entry.contentType),
                    "size": .int(Int64(picture.entry.size)), "inBucket": .bool(picture.entry.inBucket),
                ]
            })
    }

    private static let unknown = ParseError(.invalidImageData, "fullsizeImage is not a file that was uploaded.")

    /// Adds the pictures' rows, in the transaction of the product.
    func record(_ change: ProposedChange, in transaction: StoreTransaction) throws {
        for picture in change.notes[Self.noteName]?.arrayValue ?? [] {
            guard let name = picture["name"]?.stringValue, let type = picture["type"]?.stringValue,
                let size = picture["size"]?.intValue
            else { throw ParseError.internalError }
            try FileTable.add(
                .init(
                    name: name, contentType: type, size: Int(size), inBucket: picture["inBucket"] == .bool(true)),
                in: transaction)
        }
    }

    /// `makeThumbnail {name}`: a small picture of an uploaded photo, for objects of other services. The large picture
    /// becomes an orphan.
    func makeThumbnail(of name: String, _ share: WorkShare?) async throws -> JSON {
        let photo = try await store.read(for: share) { try FileTable.find(name, in: $0) }
        guard FileNames.isStoredName(name), let photo else {
            throw ParseError(.invalidImageData, "There is no file of this name.")
        }
        let entry = try await home.settle(try await made(of: photo, share).thumbnail.entry, share: share)
        try await store.write(for: share) { try FileTable.add(entry, in: $0) }
        return PhotoStudio.Picture(entry: entry).file
    }

    /// The pictures, in the place for new files.
    private func pictures(
        of photo: FileTable.Entry, _ share: WorkShare?
    ) async throws -> (full: PhotoStudio.Picture, thumbnail: PhotoStudio.Picture) {
        let (full, thumbnail) = try await made(of: photo, share)
        return (
            .init(entry: try await home.settle(full.entry, share: share)),
            .init(entry: try await home.settle(thumbnail.entry, share: share))
        )
    }

    /// The pictures on the disk. The studio works on files there, so a photo in the bucket is downloaded first.
    private func made(
        of photo: FileTable.Entry, _ share: WorkShare?
    ) async throws -> (full: PhotoStudio.Picture, thumbnail: PhotoStudio.Picture) {
        var work: String?
        defer { if let work { try? FileManager.default.removeItem(atPath: work) } }
        var copy: String?
        if photo.inBucket {
            let content = try await home.content(of: photo, for: share)
            (work, copy) = try await home.folder.workCopy(of: content)
        }
        return try await studio.pictures(of: photo.name, at: copy)
    }

    /// Returns the new picture fields to the client.
    func answer(_ change: ProposedChange, _ outcome: inout ChangeOutcome) {
        guard change.notes[Self.noteName] != nil else { return }
        for field in ["fullsizeImage", "thumbnail"] { outcome.answer[field] = outcome.after?[field] }
    }
}
