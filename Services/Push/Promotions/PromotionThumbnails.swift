import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// Rules of `Promotion`: another image loses the thumbnail of the one before.
struct PromotionRules: ClassRules {
    var prepares: Bool { false }

    func before(_ change: inout ProposedChange, in transaction: StoreTransaction) throws {
        guard change.verb == .update, let image = change.object["image"], change.object["thumbnail"] == nil,
            let id = change.objectId,
            let present = try transaction.documentIfFound("Promotion", id, caller: .master),
            present["thumbnail"] != nil, present["image"]?["name"] != image["name"]
        else { return }
        change.object["thumbnail"] = ["__op": "Delete"]
    }
}

/// Gives each promotion with an image a small picture of it, which lists show. The catalog, which has the files, makes
/// it.
package struct PromotionThumbnails: Sendable {
    let host: ServiceHost

    static let pause = Duration.seconds(3)
    /// The catalog decodes a photo in at most 12 s.
    private static let waitMax = Duration.seconds(30)

    /// - Returns: false when every promotion has its thumbnail.
    func makeNext() async throws -> Bool {
        let wanted: JSON = ["image": ["$exists": true], "thumbnail": ["$exists": false]]
        let query = Query(className: "Promotion", where: wanted, limit: 1, keys: ["image"])
        let found = try await host.store.read(for: nil) { try $0.documents(query, caller: .master).first }
        guard let found, let id = found["objectId"]?.stringValue, let image = found["image"] else { return false }
        let thumbnail = try await thumbnail(of: image)
        try await host.store.write(for: nil) { transaction in
            guard let present = try transaction.documentIfFound("Promotion", id, caller: .master),
                present["image"]?["name"] == image["name"]
            else { return }
            _ = try transaction.update(
                "Promotion", id, ["thumbnail": thumbnail, "updatedAt": present["updatedAt"] ?? .null], keepsTimes: true,
                caller: .master)
        }
        return true
    }

    /// The image itself after a final answer, so that it is not tried again.
    private func thumbnail(of image: JSON) async throws -> JSON {
        guard let name = image["name"]?.stringValue else { return image }
        let parameters: JSON = ["name": .string(name)]
        do {
            var question = try BusRequest(
                ObjectCalls(of: "catalog").function, .with { $0.name = "makeThumbnail" }, for: nil,
                timeout: Self.waitMax)
            question.documents = [parameters.serialized]
            question.principal = .satchel
            question.writes = true
            guard let document = try await host.bus.call(question).documents.first else {
                throw ParseError.internalError
            }
            return try JSON(parsing: document)
        } catch let failure as BusFailure where Self.isFinal(failure) {
            return image
        }
    }

    /// Whether the catalog would give this answer again: the image is not a photo, or its content is lost.
    package static func isFinal(_ failure: BusFailure) -> Bool {
        [.invalidImageData, .objectNotFound].contains(ParseError(failure).code)
    }
}
