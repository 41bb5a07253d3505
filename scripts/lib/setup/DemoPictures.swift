import Foundation
import ParseProtocol

/// The demo shop's pictures: files named by the row's key, drawn by `draw.py`.
struct DemoPictures {
    let gateway: Gateway
    let folder: URL

    /// Uploads the picture of a row.
    /// - Returns: the File; nil for a row without a picture.
    func upload(_ key: String) async throws -> JSON? {
        let path = folder.appendingPathComponent("\(key).webp").path
        guard let content = FileManager.default.contents(atPath: path) else { return nil }
        let answer = try await gateway.upload(Array(content), as: "\(key).webp", contentType: "image/webp")
        guard let name = answer["name"] else { throw SetupError.unexpectedAnswer(request: "POST /files") }
        return ["__type": "File", "name": name]
    }
}
