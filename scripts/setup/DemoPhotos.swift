import ParseProtocol

/// The photos of the demo shop's products. A few products bring one each, of which the catalog makes their pictures;
/// the others show the same pictures again, so that loading stays quick.
struct DemoPhotos {
    let gateway: Gateway

    /// Uploads a drawn photo.
    /// - Returns: the File.
    func upload(_ number: Int) async throws -> JSON {
        let answer = try await gateway.upload(
            DemoPicture(number: number).png, as: "demo-\(number + 1).png", contentType: "image/png")
        guard let name = answer["name"] else { throw SetupError.unexpectedAnswer(request: "POST /files") }
        return ["__type": "File", "name": name]
    }

    /// The pictures that products have, by objectId; nothing for a product without.
    func pictures(of ids: [String]) async throws -> [String: [String: JSON]] {
        let rows = try await Loader(gateway: gateway).find(
            "Product", ["objectId": ["$in": .array(ids.map(JSON.string))]], keys: "fullsizeImage,thumbnail")
        var found: [String: [String: JSON]] = [:]
        for row in rows {
            guard let id = row["objectId"]?.stringValue, let full = row["fullsizeImage"], let small = row["thumbnail"]
            else { continue }
            found[id] = ["fullsizeImage": full, "thumbnail": small]
        }
        return found
    }
}
