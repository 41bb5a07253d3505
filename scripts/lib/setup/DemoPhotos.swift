import ParseProtocol

/// The photos of the demo shop's products. A few products upload one each, from which the catalog makes pictures; the
/// others reuse these pictures, so that loading is fast.
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

    /// The pictures of products, by objectId; no entry for a product without one.
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
